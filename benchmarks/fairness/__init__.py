"""What an organisation notices of another one that sends hostile documents and many chats."""
