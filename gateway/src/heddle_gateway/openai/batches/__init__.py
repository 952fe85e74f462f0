"""`/v1/batches`: the requests of a file, answered one by one."""
