import Testing
import TestSupport

/// `assay init` with backends whose users sign in with ID tokens, but exist only after a request of
/// the app.
@Suite("Users of ID tokens")
struct TokenUserSearchTests {
    /// A backend in one file: it accepts ID tokens of one project only, `POST /api/users/sync`
    /// creates the user of a token, and a flag of 0 and 1 shows the access.
    private static let backend = PythonBackend.source(
        """
        import firebase_admin.auth as auth
        users = {}
        ENTITLEMENT_ID = 'Acme Pro'

        def caller(request):
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not token: return None
            claims = auth.verify_id_token(token)
            return claims["sub"] if claims["aud"] == "acme-5f3a" else None

        @app.get("/api/plan")
        def plan(request):
            user = caller(request)
            return (401, {}) if user is None else (200, {"plan": None})

        @app.get("/api/users/me")
        def me(request):
            user = caller(request)
            if user is None: return 401, {}
            return (200, {"user": users[user]}) if user in users else (404, {"error": "no user"})

        @app.post("/api/users/sync")
        def sync(request):
            user = caller(request)
            if user is None: return 401, {}
            users.setdefault(user, {"id": user, "is_premium": 0, "until": None})
            return 200, {"user": users[user]}

        @app.get("/api/lottery/:id")
        def lottery(request): return 200, {"week": 7}

        @app.post("/webhooks/revenuecat")
        def revenuecat_webhook(request):
            event = request.json()["event"]
            user = users.get(event.get("app_user_id"))
            if user is not None and ENTITLEMENT_ID in (event.get("entitlement_ids") or []):
                user["is_premium"] = int(event["type"] == "INITIAL_PURCHASE")
                user["until"] = event.get("expiration_at_ms")
            return 200, {}
        """,
        imports: "base64, json, sys",
        choosingPath: """
                    # An ID is a draw of the lottery if a user has it.
                    if path.startswith("/api/lottery/"):
                        path = "/api/lottery/:id" if path.split("/")[-1] in users else "/none"
            """
    )

    /// The part of the official SDK that the backend uses, with the emulator's unsigned tokens.
    private static let sdk = """
        import base64, json

        def verify_id_token(token):
            claims = token.split(".")[1]
            return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        """

    private static let keyFile = """
        {"type": "service_account", "project_id": "acme-5f3a", "private_key": "k"}
        """

    private static func initialize(_ source: String) async throws -> (
        output: String, profile: String
    ) {
        let (result, profile) = try await PythonBackend.initialize(
            source,
            otherFiles: [
                "requirements.txt": "firebase-admin\n", "acme-firebase-adminsdk.json": keyFile,
                "firebase_admin/__init__.py": "", "firebase_admin/auth.py": sdk,
            ]
        )
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        return (result.output + result.errors, profile)
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a request that creates the user of a token is found, and the flag that a purchase sets`()
        async throws
    {
        let (output, profile) = try await Self.initialize(Self.backend)
        let expectedLines = [
            "  create: {post: /api/users/sync, as: \"{{id}}\"}", "  ids: firebase",
            "entitlement: Acme Pro", "firebase-project: acme-5f3a", "    get: /api/users/me",
            "    as: \"{{id}}\"", "      access: {at: /user/is_premium, is: [1]}",
            "      expires: /user/until", "  protected: GET /api/plan",
        ]
        for line in expectedLines {
            #expect(profile.contains(line + "\n"), "\(line) in\n\(profile)\(output)")
        }
        // A route that only seems to know users is no probe.
        #expect(!profile.contains("lottery"), "\(profile)")
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a route that creates the user is also the one that requires a token`() async throws {
        let source = Self.backend.replacing("@app.get(\"/api/plan\")\n", with: "")
        let (output, profile) = try await Self.initialize(source)
        #expect(
            profile.contains("  protected: {post: /api/users/sync, id: /user/id}\n"),
            "\(profile)\(output)"
        )
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a route that knows every user of a token is the first request of a user`()
        async throws
    {
        let source = Self.backend.replacing(
            "return (200, {\"user\": users[user]}) if user in users else (404, {\"error\": \"no user\"})",
            with: "return sync(request)"
        )
        let (output, profile) = try await Self.initialize(source)
        #expect(
            profile.contains("  create: {get: /api/plan, as: \"{{id}}\"}\n"),
            "\(profile)\(output)"
        )
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `missing members and allowed values are taken from the refusal`() async throws {
        let source = Self.backend.replacing(
            "    users.setdefault(user",
            with: """
                    body = request.json()
                    if "role" not in body:
                        return 422, {"detail": [
                            {"type": "missing", "loc": ["body", "role"], "msg": "Field required"}]}
                    if body["role"] not in ["coach", "player"]:
                        return 422, {"detail": [{"type": "enum", "loc": ["body", "role"],
                            "ctx": {"expected": "'coach' or 'player'"}}]}
                    users.setdefault(user
                """
        )
        let (output, profile) = try await Self.initialize(source)
        #expect(
            profile.contains(
                "  create: {post: /api/users/sync, as: \"{{id}}\", body: {\"role\":\"coach\"}}\n"
            ),
            "\(profile)\(output)"
        )
    }

    @Test(.enabled(if: PythonBackend.isAvailable))
    func `a request that is accepted once per user is no protected route`() async throws {
        let source = Self.backend
            .replacing("@app.get(\"/api/plan\")\n", with: "")
            .replacing(
                "    users.setdefault(user",
                with: "    if user in users: return 409, {}\n    users.setdefault(user"
            )
        let (output, profile) = try await Self.initialize(source)
        #expect(profile.contains("  create: {post: /api/users/sync, as: "), "\(profile)\(output)")
        #expect(!profile.contains("  protected: "), "\(profile)")
    }
}
