
const images = [...document.querySelectorAll("#film img")];
const at = document.getElementById("at"), play = document.getElementById("play"), time = document.getElementById("time");
let playing = true, shown = null;
function show(n) {
  if (shown) shown.classList.remove("now");
  shown = images[n];
  shown.classList.add("now");
  at.value = n;
  time.value = shown.alt;
}
function toggle(on) {
  playing = on;
  play.textContent = on ? "Pause" : "Play";
}
at.oninput = () => { toggle(false); show(Number(at.value)); };
play.onclick = () => toggle(!playing);
show(0);
setInterval(() => { if (playing) show((Number(at.value) + 1) % images.length); }, pause);
