"use strict";
const field = document.getElementById("search");
const found = document.getElementById("found");
const menu = document.getElementById("menu");
const navigation = document.getElementById("navigation");
let chosen = -1;

menu.addEventListener("click", () => {
    menu.setAttribute("aria-expanded", navigation.classList.toggle("open"));
});

// What is called so comes before what begins so, and that before what only holds the words.
function rank(entry, words) {
    const name = entry[0].toLowerCase();
    const whole = (entry[0] + " " + entry[1]).toLowerCase();
    if (!words.every(word => whole.includes(word))) return -1;
    const text = words.join(" ");
    if (name === text || name === "--" + text) return 0;
    if (name.startsWith(text) || name.startsWith("--" + text)) return 1;
    if (words.every(word => name.includes(word))) return 2;
    return 3;
}

function look() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length === 0 ? [] : INDEX.map(entry => [rank(entry, words), entry])
        .filter(([value]) => value >= 0)
        .sort((a, b) => a[0] - b[0] || a[1][0].length - b[1][0].length).slice(0, 30);
    found.replaceChildren(...hits.map(([, [name, page, address]], index) => {
        const item = document.createElement("li");
        item.id = "found-" + index;
        item.setAttribute("role", "option");
        const link = document.createElement("a");
        link.href = document.body.dataset.root + "/" + address;
        link.tabIndex = -1;
        const place = document.createElement("small");
        place.textContent = page;
        link.append(name, place);
        item.append(link);
        return item;
    }));
    if (words.length > 0 && hits.length === 0) {
        const item = document.createElement("li");
        item.textContent = "Nothing is called so.";
        found.append(item);
    }
    found.hidden = words.length === 0;
    field.setAttribute("aria-expanded", !found.hidden);
    choose(hits.length > 0 ? 0 : -1);
}

function choose(index) {
    const items = [...found.querySelectorAll("[role=option]")];
    chosen = items.length === 0 ? -1 : (index + items.length) % items.length;
    items.forEach((item, place) => item.setAttribute("aria-selected", place === chosen));
    if (chosen < 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", items[chosen].id);
    items[chosen].scrollIntoView({block: "nearest"});
}

field.addEventListener("input", look);
field.addEventListener("keydown", event => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Escape") { field.value = ""; look(); }
    else if (event.key === "Enter") found.querySelector("[aria-selected=true] a")?.click();
    else return;
    event.preventDefault();
});
found.addEventListener("click", () => { field.value = ""; look(); });
document.addEventListener("keydown", event => {
    if (event.key !== "/" || /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    field.focus();
});

for (const block of document.querySelectorAll("pre")) {
    const frame = document.createElement("div");
    frame.className = "block";
    block.replaceWith(frame);
    block.tabIndex = 0;
    frame.append(block);
    if (!navigator.clipboard || !block.querySelector(".language-sh")) continue;
    const button = document.createElement("button");
    button.textContent = "copy";
    button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "copied";
    });
    frame.append(button);
}
