"""`posexp explain`: what schemes do, measured without training, as one page.

`facts` are sentences of the contract, each measured beside what the scheme declares; `pictures` are
curves and matrices, each with a sentence computed from its numbers. Neither asks what a scheme is
called, so a scheme of somebody else's gets all of it.
"""
