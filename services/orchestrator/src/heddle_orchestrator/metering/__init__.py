"""What answers consume: counted here, recorded by the usage service, held against quotas."""
