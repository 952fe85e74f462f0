"""The connectors of Heddle. Each file knows the SDK only."""
