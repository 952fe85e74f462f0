// What the pages about assistants share.
const find = (id) => document.getElementById(id);
const token = localStorage.getItem("userToken");
if (!token) location.assign("/");
const authorization = `Bearer ${token}`;

/** Calls a route of LAMB, and shows what it refuses. */
async function call(method, path, body) {
  const isForm = body instanceof FormData;
  const response = await fetch(path, {
    method,
    headers: isForm || !body ? { authorization } : { authorization, "content-type": "application/json" },
    body: isForm || !body ? body : JSON.stringify(body),
  });
  const answer = await response.json();
  find("problem").textContent = response.ok ? "" : answer.detail;
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

/** Runs a function when a form is sent. */
function onSubmit(id, act) {
  find(id).addEventListener("submit", (event) => {
    event.preventDefault();
    void act(event.target);
  });
}

function item(list, text) {
  const made = document.createElement("li");
  made.textContent = text;
  find(list).append(made);
  return made;
}
