"""The bundled schemes: one file each, using only what `import posexp` gives every plugin."""
