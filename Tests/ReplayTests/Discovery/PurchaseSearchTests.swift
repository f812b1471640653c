import Contracts
import Testing
import TestSupport

/// `assay init` with backends that use names of their own for users, products and what they buy.
@Suite("Purchases under other names", .enabled(if: PythonBackend.isAvailable))
struct PurchaseSearchTests {
    /// The users are a crew, purchases have another ID of the user, and only a session shows passes.
    private static let routes = """
        crew, sessions = {}, {}

        @app.post("/v1/crew")
        def register(request):
            body = request.json()
            if body["email"] in crew or not body["password"]: return 409, {}
            user = {"id": secrets.token_hex(8), "purchaserId": "crew_" + secrets.token_hex(4),
                "password": body["password"], "passes": []}
            crew[body["email"]] = user
            return 201, {"crew": {key: user[key] for key in ["id", "purchaserId"]}}

        @app.post("/v1/crew/sign-in")
        def sign_in(request):
            credentials = request.json()
            user = crew.get(credentials["email"])
            if user is None or user["password"] != credentials["password"]: return 401, {}
            token = secrets.token_hex(32)
            sessions["Bearer " + token] = user
            return 200, {"token": token}

        @app.get("/v1/crew/me/passes")
        def passes(request):
            user = sessions.get(request.headers.get("authorization"))
            return (401, {}) if user is None else (200, {"passes": user["passes"]})

        @app.post("/webhooks/revenuecat")
        def revenuecat_webhook(request):
            event = request.json()["event"]
            for user in crew.values():
                if user["purchaserId"] == event.get("app_user_id"):
                    is_open = event["type"] == "INITIAL_PURCHASE"
                    user["passes"] = [{"open": is_open, "product": event.get("product_id")}]
            return 200, {}
        """

    @Test func `the ID of purchases is found, also if it is not the first one`() async throws {
        let (result, profile) = try await PythonBackend.initialize(
            PythonBackend.source(Self.routes)
        )
        let expectedLines = [
            "  create: {post: /v1/crew, body: {\"email\":\"{{device}}@example.com\",\"password\":"
                + "\"Pw-{{device}}\"}, id: /crew/purchaserId}",
            "  login: {post: /v1/crew/sign-in, body: {\"email\":\"{{device}}@example.com\","
                + "\"password\":\"Pw-{{device}}\"}}",
            "    get: /v1/crew/me/passes",
            "      access: {at: \"/passes/open=true/open\", absent: false}",
        ]
        for line in expectedLines {
            #expect(profile.contains(line + "\n"), "\(line) in\n\(profile)\(result.output)")
        }
        #expect(!profile.contains("products:"), "\(profile)")
        let notes = result.output.split(separator: "\n").filter { $0.contains("users: create:") }
        #expect(notes.count == 1, "\(result.output)")
    }

    @Test func `a response that is a list is read by the entitlement`() async throws {
        let source = PythonBackend.source(
            Self.routes
                .replacing("(200, {\"passes\": user[\"passes\"]})", with: "(200, user[\"passes\"])")
                .replacing(
                    "[{\"open\": is_open, \"product\": event.get(\"product_id\")}]",
                    with: "[{\"name\": \"trial\", \"open\": True}] "
                        + "+ [{\"name\": name, \"open\": is_open} for name in event.get(\"entitlement_ids\") or []]"
                )
        )
        let (result, profile) = try await PythonBackend.initialize(source)
        let line = "access: \"/name=\(Profile().entitlement)/open\""
        #expect(profile.contains(line), "\(line) in\n\(profile)\(result.output)")
        #expect(!result.output.contains("first element"), "\(result.output)")
    }

    @Test func `the products of the code are used if the backend ignores others`() async throws {
        let source = PythonBackend.source(
            Self.routes
                .replacing(
                    "crew, sessions =",
                    with: "PRODUCTS = {\n    \"harbor_month\": \"harbor\", "
                        + "\"sea_year\": \"sea\"}\nLEVELS = {\"beginner_week\": 1}\ncrew, sessions ="
                )
                .replacing("\"id\": secrets", with: "\"number\": 1, \"id\": secrets")
                .replacing(
                    "    event = request.json()[\"event\"]\n",
                    with: """
                            event = request.json()["event"]
                            if event.get("product_id") not in {**PRODUCTS, **LEVELS}: return 200, {}

                        """
                )
                .replacing("user[\"purchaserId\"] == event", with: "user[\"id\"] == event")
        )
        let (result, profile) = try await PythonBackend.initialize(source)
        let expected = "products:\n  premium_monthly: harbor_month\n  premium_yearly: sea_year\n"
        #expect(profile.contains(expected), "\(profile)\(result.output)\(result.errors)")
        #expect(profile.contains("id: /crew/id}\n"), "\(profile)")
        #expect(result.output.contains("products: the backend ignores other products"))
    }

    /// A device is the account: its first login creates the user.
    private static let deviceRoutes = """
        players, sessions = {}, {}

        @app.post("/auth/login")
        def login(request):
            device_id = request.json()["device_id"]
            player = players.setdefault(device_id, {"id": len(players) + 100, "plan": "free"})
            token = secrets.token_hex(32)
            sessions["Bearer " + token] = player
            return 200, {"data": {"access_token": token, "user": {"id": player["id"]}}}

        @app.get("/status")
        def status(request):
            player = sessions.get(request.headers.get("authorization"))
            return (401, {}) if player is None else (200, {"subscription": player["plan"]})

        @app.post("/webhooks/revenuecat")
        def revenuecat_webhook(request):
            event = request.json()["event"]
            for player in players.values():
                if str(player["id"]) == event.get("app_user_id"):
                    player["plan"] = "premium" if event["type"] == "INITIAL_PURCHASE" else "free"
            return 200, {}
        """

    @Test func `the first login of a device creates its user`() async throws {
        let (result, profile) = try await PythonBackend.initialize(
            PythonBackend.source(Self.deviceRoutes)
        )
        let body = "body: {\"device_id\":\"{{device}}\"}"
        let expectedLines = [
            "  ids: integer", "  create: {post: /auth/login, \(body), id: /data/user/id}",
            "  login: {post: /auth/login, \(body)}", "  token: /data/access_token",
            "      access: {at: /subscription, not: [\"free\",null]}",
        ]
        for line in expectedLines {
            #expect(profile.contains(line + "\n"), "\(line) in\n\(profile)\(result.output)")
        }
    }

    @Test func `a login that only sends a code creates no user`() async throws {
        let source = PythonBackend.source(
            Self.deviceRoutes.replacing(
                "return 200, {\"data\"",
                with: "return 200, {\"sent\": True}\n    return 200, {\"data\""
            )
        )
        let (result, profile) = try await PythonBackend.initialize(source)
        #expect(profile.contains("  create: {command: [\"true\"]}\n"), "\(profile)")
        let text = result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("so Assay creates no user before an event"), "\(text)")
    }

    @Test func `a route that fails for a test event may accept a purchase`() async throws {
        let source = PythonBackend.source(
            Self.deviceRoutes.replacing(
                "    for player in players.values():",
                with: "    if event[\"type\"] == \"TEST\": return 500, {}\n"
                    + "    for player in players.values():"
            )
        )
        let (result, profile) = try await PythonBackend.initialize(source)
        let text = result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            text.contains(
                "ok endpoints: revenuecat-webhook: POST /webhooks/revenuecat accepts the purchase of "
                    + "a user, but returns 500 to a test event"
            ),
            "\(text)\(profile)"
        )
        #expect(text.contains("Next:"), "\(text)")
    }

    /// Routes that a search of 40 candidates would reach before one at the end of the file.
    @Test func `routes about purchases are tried before many others`() async throws {
        let others = (0..<60).map { number in
            "@app.get(\"/me/page\(number)\")\ndef page\(number)(request): return 404, {}"
        }
        let routes = Self.deviceRoutes.replacing("@app.get(\"/status\")", with: "")
            .replacing(
                "@app.post(\"/webhooks",
                with: others.joined(separator: "\n\n")
                    + "\n\n@app.get(\"/me/premium\")\ndef premium(request): return status(request)\n\n"
                    + "@app.post(\"/webhooks"
            )
        let (result, profile) = try await PythonBackend.initialize(PythonBackend.source(routes))
        #expect(profile.contains("    get: /me/premium\n"), "\(profile)\(result.output)")
    }

    @Test func `a file of variables is loaded for a backend that does not load it`() async throws {
        let source = PythonBackend.source(
            Self.routes.replacing(
                "crew, sessions =",
                with: "LEVEL = os.environ[\"DEPLOYMENT_LEVEL\"]\ncrew, sessions ="
            ),
            imports: "json, os, secrets, sys"
        )
        let files = [".env": "# local\nDEPLOYMENT_LEVEL=\"local level\"\nPORT=1\n"]
        let (result, profile) = try await PythonBackend.initialize(source, otherFiles: files)
        #expect(profile.contains("  env-file: .env\n"), "\(profile)\(result.output)")
        #expect(profile.contains("access: "), "\(profile)\(result.output)")
        #expect(!profile.contains("DEPLOYMENT_LEVEL"), "\(profile)")
        let loading =
            "# load_dotenv()\nfor line in open(\".env\"):\n"
            + "    if \"=\" in line: os.environ.setdefault(*line.strip().split(\"=\"))\n"
        let (_, other) = try await PythonBackend.initialize(
            source.replacing("LEVEL =", with: loading + "LEVEL ="),
            otherFiles: files
        )
        #expect(!other.contains("env-file"), "\(other)")
        #expect(other.contains("access: "), "\(other)")
    }
}
