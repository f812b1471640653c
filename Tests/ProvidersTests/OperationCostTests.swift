import Grammar
import Providers
import Testing
import Values

/// What a call costs does not depend on how many people a fake holds: counted in elements that are
/// looked at or written, not in time.
@Suite(.enabled(if: StorageStepCounter.isCounting, "only debug builds count"))
struct OperationCostTests {
    // MARK: A town of people

    static let start = Instant(milliseconds: 1_790_000_000_000)
    private static let app = OneSignalState.defaultAppID
    private static let small = populatedServices(100)
    private static let large = populatedServices(10_000)

    /// That many people with an account, a device, tags, a subscription, a consumable, a receipt, a
    /// delivery that waits and one that is over, a notification, a code in the mail.
    private static func populatedServices(_ count: Int) -> Services {
        var populatedServices = Services(seed: 1)
        populatedServices.revenueCat.setWebhookTarget(WebhookTarget(url: "http://127.0.0.1:9/"))
        populatedServices.purchasely.setWebhookTarget(WebhookTarget(url: "http://127.0.0.1:9/"))
        for number in 0..<count { settle(number, &populatedServices) }
        return populatedServices
    }

    private static func settle(_ number: Int, _ populatedServices: inout Services) {
        let id = "user-\(number)"
        let now = start + .milliseconds(Int64(number))
        func act(_ kind: StoreAction.Kind, _ change: (inout StoreAction) -> Void = { _ in }) {
            var action = StoreAction(kind, user: id)
            change(&action)
            try? populatedServices.revenueCat.carryOut(action, at: now)
        }
        act(.purchase)
        act(.purchase) { $0.product = "coins_100" }
        try? populatedServices.purchasely.carryOut(.purchase, ["user": .string(id)], at: now)
        _ = populatedServices.settle(at: now)
        for delivery in populatedServices.queue.take(by: now).dropFirst() {
            populatedServices.queue.finish(
                delivery.number,
                status: 200,
                failure: nil,
                by: .revenueCat,
                at: now
            )
        }
        func say(_ party: Exchange.Party, _ method: String, _ path: String, _ body: JSONValue) {
            _ = populatedServices.respond(party, to: request(method, path, body), at: now)
        }
        say(
            .oneSignal,
            "POST",
            "/apps/\(app)/users",
            [
                "identity": ["external_id": .string(id)],
                "properties": ["tags": ["who": .string(id), "plan": number % 50 == 0 ? "a" : "b"]],
                "subscriptions": [["type": "iOSPush", "token": .string("token-" + id)]],
            ]
        )
        say(.oneSignal, "POST", "/notifications", push(id))
        let account: JSONValue = ["email": .string(id + "@example.com"), "password": "secret-1"]
        say(.firebase, "POST", "/v1/accounts:signUp?key=k", account)
        let mail: JSONValue = [
            "requestType": "PASSWORD_RESET", "email": .string(id + "@example.com"),
        ]
        say(.firebase, "POST", "/v1/accounts:sendOobCode?key=k", mail)
        say(.despia, "POST", "/bridge", ["device": .string(id), "command": "get-uuid://"])
        populatedServices.despia.carryOut(
            .setHistory([["originalTransactionId": .string("transaction-" + id)]]),
            on: id,
            at: now
        )
    }

    private static func push(_ id: String) -> JSONValue {
        [
            "app_id": .string(app), "contents": ["en": "hello"], "target_channel": "push",
            "include_aliases": ["external_id": [.string(id)]],
        ]
    }

    private static func request(
        _ method: String,
        _ path: String,
        _ body: JSONValue? = nil
    ) -> HTTPMessage.Request {
        HTTPMessage.Request(
            method,
            path,
            fields: [
                HTTPMessage.Field("Authorization", path.contains("key=") ? "" : "Bearer owner"),
                HTTPMessage.Field("X-Platform", "ios"),
            ],
            body: body?.bytes ?? []
        )
    }

    // MARK: What is done in it

    /// Something that is done in a town; it must succeed.
    struct MeasuredOperation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let work: @Sendable (inout Services, Instant) -> Bool

        init(_ name: String, _ work: @escaping @Sendable (inout Services, Instant) -> Bool) {
            (testDescription, self.work) = (name, work)
        }

        /// A call to a fake, and what follows from it.
        init(
            _ party: Exchange.Party,
            _ method: String,
            _ path: String,
            _ body: JSONValue? = nil
        ) {
            self.init("\(party): \(method) \(path)") { populatedServices, now in
                let request = request(method, path, body)
                let reply = populatedServices.respond(party, to: request, at: now)
                _ = populatedServices.settle(at: now)
                return (200..<300).contains(reply.response.status)
            }
        }

        init(store kind: StoreAction.Kind, _ body: JSONObject = JSONObject()) {
            self.init("store: \(kind.rawValue) \(JSONValue.object(body).text)") {
                populatedServices,
                now in
                var body = body
                if body["user"] == nil { body["user"] = "user-7" }
                do {
                    try populatedServices.revenueCat.carryOut(StoreAction(kind, body), at: now)
                    _ = populatedServices.settle(at: now)
                    return true
                } catch {
                    return false
                }
            }
        }
    }

    private static let user = "/apps/\(app)/users/by/external_id/user-7"

    private static func pushing(_ more: JSONObject) -> JSONValue {
        var body: JSONObject = ["app_id": .string(app), "contents": ["en": "hello"]]
        for member in more.members { body[member.key] = member.value }
        return .object(body)
    }

    private static func tag(_ relation: String, _ value: JSONValue?) -> JSONValue {
        [
            "field": "tag", "key": "who", "relation": .string(relation), "value": value ?? .null,
        ]
    }

    static let oneSignal = [
        MeasuredOperation(
            .oneSignal,
            "POST",
            "/apps/\(app)/users",
            ["identity": ["external_id": "new"]]
        ),
        MeasuredOperation(.oneSignal, "GET", user), MeasuredOperation(.oneSignal, "DELETE", user),
        MeasuredOperation(
            .oneSignal,
            "PATCH",
            user,
            ["properties": ["tags": ["k": "v", "plan": "c"]]]
        ),
        MeasuredOperation(.oneSignal, "PATCH", user + "/identity", ["identity": ["crm": "1"]]),
        MeasuredOperation(.oneSignal, "GET", user + "/identity"),
        MeasuredOperation(
            .oneSignal,
            "POST",
            user + "/subscriptions",
            ["subscription": ["type": "Email", "token": "seven@example.com"]]
        ),
        MeasuredOperation(
            .oneSignal,
            "PATCH",
            "/apps/\(app)/subscriptions_by_token/iOSPush/token-user-7",
            ["subscription": ["enabled": false]]
        ),
        MeasuredOperation(.oneSignal, "POST", "/notifications", push("user-7")),
        MeasuredOperation(
            .oneSignal,
            "POST",
            "/notifications",
            pushing(["included_segments": ["All"]])
        ),
        MeasuredOperation(
            .oneSignal,
            "POST",
            "/notifications",
            pushing(["filters": [tag("=", "user-7")]])
        ),
        MeasuredOperation(
            .oneSignal,
            "POST",
            "/notifications",
            pushing(["filters": [tag("!=", "user-8"), tag("=", "user-7")]])
        ),
        MeasuredOperation(.oneSignal, "GET", "/notifications?app_id=\(app)&limit=5&offset=40"),
        MeasuredOperation(.oneSignal, "GET", "/players?app_id=\(app)&limit=5&offset=40"),
        MeasuredOperation(
            .oneSignal,
            "POST",
            "/players",
            [
                "app_id": .string(app), "device_type": 0, "identifier": "t",
            ]
        ),
    ]

    private static let admin = "/v1/projects/demo-project/accounts"
    private static let address = "user-7@example.com"

    static let firebase = [
        MeasuredOperation(
            .firebase,
            "POST",
            "/v1/accounts:signUp?key=k",
            ["email": "new@example.com", "password": "secret-1"]
        ),
        MeasuredOperation(
            .firebase,
            "POST",
            "/v1/accounts:signInWithPassword?key=k",
            ["email": .string(address), "password": "secret-1"]
        ),
        MeasuredOperation(.firebase, "POST", admin + ":lookup", ["email": [.string(address)]]),
        MeasuredOperation(.firebase, "POST", admin + ":lookup", ["localId": ["nobody"]]),
        MeasuredOperation(
            .firebase,
            "POST",
            "/v1/accounts:createAuthUri?key=k",
            ["identifier": .string(address), "continueUri": "http://localhost"]
        ),
        MeasuredOperation(.firebase, "GET", admin + ":batchGet?maxResults=5"),
        MeasuredOperation(.firebase, "GET", admin + ":batchGet?maxResults=5&nextPageToken=T"),
        MeasuredOperation(
            .firebase,
            "POST",
            "/v1/accounts:sendOobCode?key=k",
            ["requestType": "EMAIL_SIGNIN", "email": .string(address)]
        ),
        MeasuredOperation(
            .firebase,
            "POST",
            "/v1/accounts:sendVerificationCode?key=k",
            ["phoneNumber": "+15550100"]
        ),
        MeasuredOperation(.firebase, "POST", admin, ["email": "made@example.com"]),
        MeasuredOperation("firebase: a code of the mail is used, and the account goes") {
            populatedServices,
            now in
            let path = "/emulator/action?mode=resetPassword&oobCode=none"
            _ = populatedServices.respond(.firebase, to: request("GET", path), at: now)
            let found = populatedServices.respond(
                .firebase,
                to: request("POST", admin + ":lookup", ["email": [.string(address)]]),
                at: now
            )
            guard let id = ProviderResponse(reply: found)["/users/0/localId"] else { return false }
            let gone = populatedServices.respond(
                .firebase,
                to: request("POST", admin + ":delete", ["localId": id]),
                at: now
            )
            return gone.response.status == 200
        },
    ]

    static let revenueCat = [
        MeasuredOperation(.revenueCat, "GET", "/v1/subscribers/user-7"),
        MeasuredOperation(.revenueCat, "GET", "/v1/subscribers/new"),
        MeasuredOperation(.revenueCat, "DELETE", "/v1/subscribers/user-7"),
        MeasuredOperation(
            .revenueCat,
            "POST",
            "/v1/subscribers/user-7/attributes",
            ["attributes": ["a": ["value": "b"]]]
        ),
        MeasuredOperation(
            .revenueCat,
            "POST",
            "/v1/subscribers/identify",
            ["app_user_id": "user-7", "new_app_user_id": "seven"]
        ),
        MeasuredOperation(.revenueCat, "GET", "/v1/subscribers/user-7/offerings"),
        MeasuredOperation(
            .revenueCat,
            "POST",
            "/v1/receipts",
            ["app_user_id": "new", "fetch_token": "r", "product_id": "premium_yearly"]
        ),
        MeasuredOperation(
            .revenueCat,
            "POST",
            "/v1/subscribers/user-7/entitlements/premium/promotional",
            ["duration": "weekly"]
        ),
        MeasuredOperation(.revenueCat, "GET", "/v2/projects/p/customers/user-7"),
        MeasuredOperation(.revenueCat, "GET", "/v2/projects/p/customers/user-7/subscriptions"),
    ]

    static let store = [
        MeasuredOperation(store: .purchase, ["user": "new"]), MeasuredOperation(store: .renew),
        MeasuredOperation(store: .cancel),
        MeasuredOperation(store: .extend), MeasuredOperation(store: .refund),
        MeasuredOperation(store: .expire),
        MeasuredOperation(store: .refund, ["product": "coins_100"]),
        MeasuredOperation(store: .billingIssue),
        MeasuredOperation(store: .changeProduct, ["newProduct": "premium_yearly"]),
        MeasuredOperation(store: .transfer, ["user": "user-8", "from": "user-7"]),
        MeasuredOperation(store: .restore, ["user": "user-8", "from": "user-7"]),
        MeasuredOperation(store: .grant),
        MeasuredOperation(store: .familyShare, ["user": "new", "from": "user-7"]),
        MeasuredOperation(store: .logIn, ["user": "seven", "from": "user-7"]),
        MeasuredOperation(store: .setAttributes, ["attributes": ["a": "b"]]),
    ]

    static let others = [
        MeasuredOperation("the next moment") { populatedServices, _ in
            populatedServices.nextChangeTime != nil
        },
        MeasuredOperation("a delivery is taken and ends") { populatedServices, now in
            let due = populatedServices.queue.take(by: now)
            for delivery in due {
                populatedServices.queue.finish(
                    delivery.number,
                    status: 500,
                    failure: nil,
                    by: .revenueCat,
                    at: now
                )
            }
            return populatedServices.queue.nextDueTime != nil
        },
        MeasuredOperation("purchasely: renew") { populatedServices, now in
            (try? populatedServices.purchasely.carryOut(.renew, ["user": "user-7"], at: now)) != nil
        },
        MeasuredOperation("purchasely: transfer") { populatedServices, now in
            let body: JSONObject = ["user": "user-8", "from": "user-7"]
            return (try? populatedServices.purchasely.carryOut(.transfer, body, at: now)) != nil
        },
        MeasuredOperation(
            .despia,
            "POST",
            "/bridge",
            ["device": "user-7", "command": "getpurchasehistory://"]
        ),
        MeasuredOperation(.despia, "GET", "/device?device=user-7"),
        MeasuredOperation(.despia, "GET", "/log?after=10&limit=3"),
        MeasuredOperation("a fork is written while the first is kept") { populatedServices, now in
            let kept = populatedServices
            let reply = populatedServices.respond(.oneSignal, to: request("GET", user), at: now)
            return kept.nextChangeTime == populatedServices.nextChangeTime
                && reply.response.status == 200
        },
    ]

    private static func steps(
        _ operation: MeasuredOperation,
        in populatedServices: Services,
        at now: Instant
    ) -> (Bool, Int) {
        var (populatedServices, isDone) = (populatedServices, false)
        let count = StorageStepCounter.count { isDone = operation.work(&populatedServices, now) }
        return (isDone, count)
    }

    @Test(
        "the same operation on a hundred times more users takes the same work",
        arguments: oneSignal + firebase + revenueCat + store + others
    )
    func work(operation: MeasuredOperation) {
        let now = Self.start + .seconds(60)
        let (isDone, few) = Self.steps(operation, in: Self.small, at: now)
        let (isDoneAmongMany, many) = Self.steps(operation, in: Self.large, at: now)
        #expect(isDone && isDoneAmongMany, "it has to succeed to say anything")
        #expect(few > 0, "who touches nothing proves nothing")
        // A search takes a few steps more among more blocks, and no call makes more than ten.
        #expect(many <= few + 80, "\(few) steps among 100 people, \(many) among 10,000")
    }

    @Test func `the counter detects a full scan`() {
        let many = StorageStepCounter.count {
            _ = Self.large.revenueCat.purchase(withTransaction: "none")
            for id in 0..<200 { _ = Self.large.despia.devices["user-\(id)"] }
        }
        #expect(many >= 200)
    }
}
