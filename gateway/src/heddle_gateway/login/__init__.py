"""Routes to sign in and out, and to see who is signed in."""
