"""Embedding and reranking models behind HTTP servers."""
