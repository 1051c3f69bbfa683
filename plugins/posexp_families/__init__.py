"""The bundled families of foreign checkpoints, one file each; `posexp import-hf` finds them."""
