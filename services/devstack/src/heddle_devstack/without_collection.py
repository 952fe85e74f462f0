"""Imported first: all services load in a fifth less time while garbage is not collected."""

import gc

gc.disable()
