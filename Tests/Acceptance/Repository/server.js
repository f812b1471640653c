// An ordinary backend of a shop that sells tea by subscription, for the commands of the documentation.
// It shares nothing with Assay's, and is not without faults.
const fs = require("fs"), http = require("http"), path = require("path");

const file = path.join(process.env.DATA_DIR || ".", "tea.json");
const authorization = process.env.REVENUECAT_WEBHOOK_AUTH || "Bearer assay-test-token";
const onesignal = process.env.ONESIGNAL_API_BASE || "http://127.0.0.1:9320";
let store = {users: {}, plans: {}, seen: []};
try { store = JSON.parse(fs.readFileSync(file, "utf8")); } catch { /* the first start */ }
const keep = () => fs.writeFileSync(file, JSON.stringify(store));

async function welcome(user) {
    const body = {
        app_id: process.env.ONESIGNAL_APP_ID, target_channel: "push",
        include_aliases: {external_id: [user]}, contents: {en: "Welcome to the tea club"},
    };
    const headers = {"content-type": "application/json", authorization: `Key ${process.env.ONESIGNAL_API_KEY || ""}`};
    await fetch(`${onesignal}/notifications`, {method: "POST", headers, body: JSON.stringify(body)})
        .catch(error => console.error("no push:", error.message));
}

function webhook(request, body) {
    if (request.headers.authorization !== authorization) return [401, {error: "who are you"}];
    const event = body.event;
    if (!event || !event.id) return [400, {error: "no event"}];
    const user = event.app_user_id;
    if (store.seen.includes(event.id) || !user) return [200, {}];
    store.seen.push(event.id);
    store.users[user] ??= {id: user};
    if (["INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION"].includes(event.type))
        store.plans[user] = {sku: event.product_id, until: new Date(event.expiration_at_ms).toISOString()};
    if (event.type === "EXPIRATION") delete store.plans[user];
    keep();
    if (event.type === "INITIAL_PURCHASE") welcome(user);
    return [200, {}];
}

function answer(request, body) {
    const {pathname} = new URL(request.url, "http://tea");
    const [, , kind, id] = pathname.split("/").map(decodeURIComponent);
    const route = `${request.method} ${pathname.startsWith("/test/") ? `/test/${kind}` : pathname}`;
    switch (route) {
    case "GET /healthz": return [200, {ok: true}];
    case "POST /api/webhooks/revenuecat": return webhook(request, body);
    case "POST /signup":
        store.users[body.id] ??= {id: body.id};
        keep();
        return [201, store.users[body.id]];
    case "GET /test/users": return store.users[id] ? [200, store.users[id]] : [404, {}];
    case "GET /test/subscriptions": {
        const plan = store.plans[id];
        return [200, {active: !!plan && Date.parse(plan.until) > Date.now(), sku: plan?.sku ?? null, until: plan?.until ?? null}];
    }
    default: return [404, {error: "no such route"}];
    }
}

http.createServer((request, response) => {
    const parts = [];
    request.on("data", part => parts.push(part)).on("end", () => {
        let result;
        try {
            result = answer(request, parts.length ? JSON.parse(Buffer.concat(parts)) : {});
        } catch (error) {
            result = [error instanceof SyntaxError ? 400 : 500, {error: error.message}];
        }
        response.writeHead(result[0], {"content-type": "application/json"}).end(JSON.stringify(result[1]));
    });
}).listen(process.env.PORT || 8080, "127.0.0.1");
