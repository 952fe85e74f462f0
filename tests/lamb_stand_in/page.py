"""The page of the stand-in's frontend: a login, an upload, and messages over a WebSocket."""

PAGE = """<!doctype html>
<html lang="en">
<link rel="icon" href="data:,">
<title>LAMB</title>
<h1>LAMB</h1>
<form id="login">
  <label>E-mail <input name="email" type="email" autocomplete="username"></label>
  <label>Password <input name="password" type="password" autocomplete="current-password"></label>
  <button>Log in</button>
</form>
<p id="user"></p>
<form id="upload"><input name="file" type="file"><button>Upload</button></form>
<p id="uploaded"></p>
<form id="chat"><input name="text"><button>Send</button></form>
<ul id="messages"></ul>
<script>
const find = (id) => document.getElementById(id);
find("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(event.target));
  const response = await (await fetch("/creator/login", { method: "POST", body })).json();
  if (response.success) localStorage.setItem("userToken", response.data.token);
  find("user").textContent = response.success ? response.data.email : response.error;
});
find("upload").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new FormData(event.target);
  const response = await (await fetch("/creator/files/upload", { method: "POST", body })).json();
  find("uploaded").textContent = response.name + " " + response.size;
});
const socket = new WebSocket(location.origin.replace("http", "ws") + "/live", "lamb.v1");
socket.addEventListener("message", (event) => {
  const item = document.createElement("li");
  item.textContent = event.data;
  find("messages").append(item);
});
find("chat").addEventListener("submit", (event) => {
  event.preventDefault();
  socket.send(event.target.elements.text.value);
});
</script>
</html>
"""
