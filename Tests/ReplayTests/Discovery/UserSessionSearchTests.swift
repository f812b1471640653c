import Testing
import TestSupport

@testable import Replay

/// `assay init` with backends whose users sign in with a password or with their phone.
@Suite("Sessions of users")
struct UserSessionSearchTests {
    /// A backend in one file: users have an email address and a password, and only a session shows
    /// the access of a user.
    private static let routes = """
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
        """

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a login with a password is found, and probes use its session`() async throws {
        let (result, profile) = try await PythonBackend.initialize(
            PythonBackend.source(Self.routes)
        )
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

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a login that no probe needs is left out`() async throws {
        let routes = Self.routes
            .replacing("if user is None: return 401, {}\n    return", with: "return")
            .replacing(
                "user = sessions.get(request.headers.get(\"authorization\"))",
                with: "user = {\"active\": False}"
            )
        let (result, profile) = try await PythonBackend.initialize(PythonBackend.source(routes))
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(profile.contains("create: {post: /auth/signup"), "\(profile)")
        #expect(!profile.contains("login: {"), "\(profile)")
        #expect(!profile.contains("user-session"), "\(profile)")
    }

    /// The same server for users without an account: the app chooses the ID, and the response to a
    /// registration contains it and the ID of the row.
    private static func anonymous(_ webhook: String = "return 200, {}") -> String {
        PythonBackend.source(
            """
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
            """
        )
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `an ID that the app chooses stays the user's, and the registration is the login`()
        async throws
    {
        let (result, profile) = try await PythonBackend.initialize(Self.anonymous())
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

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a webhook route that fails is not replaced by a route that refuses the sender`()
        async throws
    {
        let (result, profile) = try await PythonBackend.initialize(Self.anonymous("return 500, {}"))
        #expect(
            profile.contains("  revenuecat-webhook: POST /subscriptions/webhook\n"),
            "\(profile)\(result.output)\(result.errors)"
        )
        #expect(result.output.contains("POST /subscriptions/webhook returns 500"))
    }

    // MARK: Deletion of accounts

    /// The same server for users with ID tokens of the Firebase emulator, who delete their account
    /// with a `DELETE`.
    private static let tokenBackend = PythonBackend.source(
        """
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
        """,
        imports: "base64, json, os, sys"
    )

    private static func initializeTokenBackend(_ source: String) async throws -> (
        result: Program.Result, profile: String
    ) {
        try await PythonBackend.initialize(
            source,
            otherFiles: ["requirements.txt": "firebase-admin\n"]
        )
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `the route that deletes the account of a user is found`() async throws {
        let (result, profile) = try await Self.initializeTokenBackend(Self.tokenBackend)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(profile.contains("  delete-account: DELETE /v1/me\n"), "\(profile)")
        #expect(result.output.contains("DELETE /v1/me deletes the user of an ID token"))
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a route that refuses to delete an account is only noted`() async throws {
        let source = Self.tokenBackend.replacing("(204, {}) if", with: "(403, {}) if")
        let (result, profile) = try await Self.initializeTokenBackend(source)
        #expect(!profile.contains("\n  delete-account:"), "\(profile)")
        let text = result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("seems to delete an account, but returns 403"), "\(text)")
        #expect(text.contains("assay init --add delete-account"), "\(text)")
    }

    /// A game without accounts: the creation of a player returns a token, which a header of the
    /// game's own carries.
    private static let playerRoutes = """
        players = {}

        @app.post("/api/players/register")
        def create_player(request):
            name = request.json()["name"]
            if not name: return 400, {"error": "name is required"}
            player = {"id": secrets.token_hex(8), "token": secrets.token_hex(16), "vip": False}
            players[player["token"]] = player
            return 201, {"playerId": player["id"], "token": player["token"]}

        @app.get("/api/state")
        def state(request):
            player = players.get(request.headers.get("X-Player-Token"))
            if player is None: return 401, {}
            return 200, {"player": {"id": player["id"]}, "isVipActive": player["vip"]}

        @app.post("/webhooks/revenuecat")
        def revenuecat_webhook(request):
            event = request.json()["event"]
            for player in players.values():
                if player["id"] == event.get("app_user_id"):
                    player["vip"] = event["type"] == "INITIAL_PURCHASE"
            return 200, {}
        """

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a token that only the creation of a user returns is sent in the backend's header`()
        async throws
    {
        let (result, profile) = try await PythonBackend.initialize(
            PythonBackend.source(Self.playerRoutes)
        )
        let expectedLines = [
            "  create: {post: /api/players/register, body: ", "  token: /token\n",
            "    get: /api/state\n",
            "    headers: {x-player-token: \"{{user-session}}\"}\n",
            "      access: /isVipActive",
        ]
        for line in expectedLines {
            #expect(profile.contains(line), "\(line) in\n\(profile)\(result.output)")
        }
        #expect(!profile.contains("login:"), "\(profile)")
    }

    @Test(
        "headers of sessions are read from the code",
        arguments: [
            ("request.headers['X-User-Token']", ["x-user-token"]),
            ("x_session_id: str = Header(...)", ["x-session-id"]),
            ("$_SERVER['HTTP_X_AUTH_TOKEN']", ["x-auth-token"]),
            ("c.GetHeader(\"X-Token\") + c.GetHeader(\"x-token\")", ["x-token"]),
            ("headers['X-CSRF-Token'] headers['X-Webhook-Token'] headers['X-Forwarded-For']", []),
            ("x_user_token = body['token']", []),
        ]
    )
    func sessionHeaders(code: String, names: [String]) {
        #expect(SessionHeaders(SourceText(path: "app.py", text: code)).names == names)
    }
}
