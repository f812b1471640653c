import Foundation
import Programs
import Replay
import Testing
import TestSupport

/// `assay init` with backends whose users sign in with a password or with their phone.
@Suite("Sessions of users")
struct UserSessionSearchTests {
    /// A backend in one file: users have an email address and a password, and only a session shows
    /// the access of a user.
    private static let backend = """
        import json, secrets, sys
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        class App:
            def __init__(self): self.routes = {}
            def route(self, method, path):
                def register(function):
                    self.routes[method, path] = function
                    return function
                return register
            def get(self, path): return self.route("GET", path)
            def post(self, path): return self.route("POST", path)

        app = App()
        users, sessions = {}, {}

        @app.post("/auth/signup")
        def signup(request):
            body = request.json()
            email, password = body["email"], body["password"]
            if not email or not password or email in users: return 409, {}
            users[email] = {"id": secrets.token_hex(8), "password": password, "active": False}
            return 201, {"user": {"id": users[email]["id"], "email": email}}

        @app.post("/auth/login")
        def login(request):
            body = request.json()
            user = users.get(body["email"])
            if user is None or user["password"] != body["password"]: return 401, {}
            token = secrets.token_hex(32)
            sessions["Bearer " + token] = user
            return 200, {"access_token": token, "token_type": "bearer"}

        @app.get("/me/entitlements")
        def entitlements(request):
            user = sessions.get(request.headers.get("authorization"))
            if user is None: return 401, {}
            return 200, {"active": user["active"], "product": user.get("product")}

        @app.get("/me/profile")
        def profile(request):
            user = sessions.get(request.headers.get("authorization"))
            return (401, {}) if user is None else (200, {"id": user["id"]})

        @app.post("/webhooks/revenuecat")
        def revenuecat_webhook(request):
            event = request.json()["event"]
            for user in users.values():
                if user["id"] == event.get("app_user_id"):
                    user["active"] = event["type"] == "INITIAL_PURCHASE"
                    user["product"] = event.get("product_id")
            return 200, {}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def answer(self):
                length = int(self.headers.get("content-length") or 0)
                text = self.rfile.read(length) or b"{}"
                self.json = lambda: json.loads(text)
                try: status, body = app.routes.get((self.command, self.path), lambda _: (404, {}))(self)
                except Exception: status, body = 400, {}
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            do_GET = do_POST = answer
            def log_message(self, *_): pass

        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
        """

    private static func initialize(_ source: String) async throws -> (
        result: Program.Result, profile: String
    ) {
        let folder = try TemporaryFolder()
        try folder.write(source, to: "app.py")
        if source.contains("firebase_admin") {
            try folder.write("firebase-admin\n", to: "requirements.txt")
        }
        let result = try await Program.run(
            ["init", "--start", "exec python3 app.py {{port}}"],
            folder: folder.path
        )
        return (result, folder.read("assay.yaml") ?? "")
    }

    private static let hasPython =
        ProgramCommand.findExecutable("python3", searchPath: "/usr/local/bin:/usr/bin:/bin") != nil

    @Test(.enabled(if: hasPython))
    func `a login with a password is found, and probes use its session`() async throws {
        let (result, profile) = try await Self.initialize(Self.backend)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let expectedLines = [
            "  create: {post: /auth/signup, body: "
                + "{\"email\":\"{{device}}@example.com\",\"password\":\"Pw-{{device}}\"}, id: /user/id}",
            "  login: {post: /auth/login, body: "
                + "{\"email\":\"{{device}}@example.com\",\"password\":\"Pw-{{device}}\"}}",
            "  token: /access_token",
            "    get: /me/entitlements",
            "    headers: {authorization: \"Bearer {{user-session}}\"}",
            "      access: /active",
        ]
        for line in expectedLines {
            #expect(profile.contains(line + "\n"), "\(line) in\n\(profile)\(result.output)")
        }
        // Without a user there is no session, so no route shows that the user is unknown.
        #expect(!profile.contains("\n  user:"), "\(profile)")
        #expect(
            result.output.contains(
                "users: login: POST /auth/login signs in a user and returns a session"
            ),
            "\(result.output)"
        )
    }

    @Test(.enabled(if: hasPython))
    func `a login that no probe needs is left out`() async throws {
        let source = Self.backend
            .replacing("if user is None: return 401, {}\n    return", with: "return")
            .replacing(
                "user = sessions.get(request.headers.get(\"authorization\"))",
                with: "user = {\"active\": False}"
            )
        let (result, profile) = try await Self.initialize(source)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(profile.contains("create: {post: /auth/signup"), "\(profile)")
        #expect(!profile.contains("login: {"), "\(profile)")
        #expect(!profile.contains("user-session"), "\(profile)")
    }

    /// The same server for users without an account: the app chooses the ID, and the response to a
    /// registration contains it and the ID of the row.
    private static func anonymous(_ webhook: String = "return 200, {}") -> String {
        let routes = """
            users, sessions = {}, {}

            @app.post("/v1/auth/anonymous")
            def anonymous(request):
                body = request.json()
                app_user_id, device_id = body["app_user_id"], body["device_id"]
                if body["platform"] not in ["ios", "android"]: return 400, {}
                user = users.setdefault(app_user_id, {"row": len(users) + 1, "active": False})
                token = secrets.token_hex(32)
                sessions["Bearer " + token] = user
                return 200, {"accessToken": token,
                    "me": {"userId": user["row"], "appUserId": app_user_id}}

            @app.get("/v1/me")
            def me(request):
                user = sessions.get(request.headers.get("authorization"))
                if user is None: return 401, {}
                return 200, {"userId": user["row"], "isPremium": user["active"]}

            @app.post("/subscriptions/restore")
            def restore(request): return 401, {}

            @app.post("/subscriptions/webhook")
            def hook(request):
                event = request.json()["event"]
                if event.get("app_user_id") in users:
                    users[event["app_user_id"]]["active"] = event["type"] == "INITIAL_PURCHASE"
                \(webhook)

            class Handler
            """
        let server = backend.components(separatedBy: "users, sessions = {}, {}")[0]
        return server + routes + backend.components(separatedBy: "class Handler")[1]
    }

    @Test(.enabled(if: hasPython))
    func `an ID that the app chooses stays the user's, and the registration is the login`()
        async throws
    {
        let (result, profile) = try await Self.initialize(Self.anonymous())
        let body =
            "{\"app_user_id\":\"{{id}}\",\"device_id\":\"{{device}}\",\"platform\":\"{{platform}}\"}"
        let expectedLines = [
            "  register: {post: /v1/auth/anonymous, body: \(body), proof: /accessToken}",
            "  login: {post: /v1/auth/anonymous, body: \(body)}", "  token: /accessToken",
            "    get: /v1/me", "      access: /isPremium",
        ]
        for line in expectedLines {
            #expect(profile.contains(line + "\n"), "\(line) in\n\(profile)\(result.output)")
        }
        #expect(!profile.contains("  ids: "), "\(profile)")
    }

    @Test(.enabled(if: hasPython))
    func `a webhook route that fails is not replaced by a route that refuses the sender`()
        async throws
    {
        let (result, profile) = try await Self.initialize(Self.anonymous("return 500, {}"))
        #expect(
            profile.contains("  revenuecat-webhook: POST /subscriptions/webhook\n"),
            "\(profile)\(result.output)\(result.errors)"
        )
        #expect(result.output.contains("POST /subscriptions/webhook returns 500"))
    }

    // MARK: Deletion of accounts

    /// The same server for users with ID tokens of the Firebase emulator, who delete their account
    /// with a `DELETE`.
    private static let tokenBackend: String = {
        let routes = """
            import base64
            emulator = os.environ.get("FIREBASE_AUTH_EMULATOR_HOST")
            users = {}

            def verify_id_token(token):  # as firebase_admin.auth does with the emulator
                payload = token.split(".")[1]
                return json.loads(base64.urlsafe_b64decode(payload + "=="))

            def caller(request):
                header = request.headers.get("authorization") or ""
                return verify_id_token(header.removeprefix("Bearer "))["sub"]

            @app.post("/v1/login")
            def login(request):
                user = caller(request)
                users[user] = {"active": False}
                return 200, {"user": {"id": user}}

            @app.get("/v1/me")
            def me(request):
                try: user = caller(request)
                except Exception: return 401, {}
                return 200, {"id": user, **users.get(user, {"active": False})}

            @app.delete("/v1/me")
            def remove(request):
                return (204, {}) if users.pop(caller(request), None) else (404, {})

            @app.post("/webhooks/revenuecat")
            def revenuecat_webhook(request):
                event = request.json()["event"]
                users[event.get("app_user_id")] = {"active": event["type"] == "INITIAL_PURCHASE"}
                return 200, {}


            """
        let server = backend.components(separatedBy: "users, sessions = {}, {}")[0]
        let handler = backend.components(separatedBy: "class Handler")[1]
        return (server + routes + "class Handler" + handler)
            .replacing("import json, ", with: "import json, os, ")
            .replacing("do_GET = do_POST", with: "do_GET = do_POST = do_DELETE")
            .replacing(
                "    def post(self, path)",
                with: "    def delete(self, path): return self.route(\"DELETE\", path)\n"
                    + "    def post(self, path)"
            )
    }()

    @Test(.enabled(if: hasPython))
    func `the route that deletes the account of a user is found`() async throws {
        let (result, profile) = try await Self.initialize(Self.tokenBackend)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(profile.contains("  delete-account: DELETE /v1/me\n"), "\(profile)")
        #expect(result.output.contains("DELETE /v1/me deletes the user of an ID token"))
    }

    @Test(.enabled(if: hasPython))
    func `a route that refuses to delete an account is only noted`() async throws {
        let source = Self.tokenBackend.replacing("(204, {}) if", with: "(403, {}) if")
        let (result, profile) = try await Self.initialize(source)
        #expect(!profile.contains("\n  delete-account:"), "\(profile)")
        let text = result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("seems to delete an account, but returns 403"), "\(text)")
        #expect(text.contains("assay init --add delete-account"), "\(text)")
    }
}
