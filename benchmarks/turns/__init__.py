"""What a turn with tools costs, beside what users could write themselves."""
