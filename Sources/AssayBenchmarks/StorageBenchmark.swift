internal import Conformance
internal import Foundation
internal import Providers

/// Compares the cost of calls to fakes with 100 users and with 100,000 users, without a network.
enum StorageBenchmark {
    /// A kind of API call that is measured, each time for another user.
    private struct Deed {
        let name: String
        let work: (inout Services, Int, Instant) -> Void
    }

    private static let sizes = [100, 100_000]
    /// The number of repetitions of an operation in one measurement.
    private static let count = 2000
    private static let rounds = 5
    private static let app = OneSignalState.standardApp

    static func run() {
        var towns: [Services] = []
        for size in sizes {
            let before = Benchmarks.residentBytes()
            let clock = ContinuousClock()
            let begin = clock.now
            var town = Services(seed: 1)
            town.revenueCat.connect(WebhookTarget(url: "http://127.0.0.1:9/"))
            for number in 0..<size { settle(number, &town) }
            towns.append(town)
            let elapsed = Benchmarks.seconds(clock.now - begin)
            let memory = Double(Benchmarks.residentBytes() - before) / Double(size)
            Benchmarks.print(
                "\(size) users created".padding(toLength: 35, withPad: " ", startingAt: 0)
                    + String(
                        format: "%8.0f /s, %.1f KB each",
                        Double(size) / elapsed,
                        memory / 1024
                    )
            )
        }
        Benchmarks.print(
            "per second, by number of users     "
                + sizes.map { "\($0)".padding(toLength: 10, withPad: " ", startingAt: 0) }.joined()
                + "  ratio"
        )
        for deed in deeds { show(deed, &towns) }
    }

    /// Measures an operation with few and with many users, in turns, so that both have the same
    /// conditions.
    private static func show(_ deed: Deed, _ towns: inout [Services]) {
        var rates: [[Double]] = sizes.map { _ in [] }
        for round in 0..<rounds {
            // The small state is restored after each round. The large one is changed in place,
            // because the first writes after a copy are slower and are measured separately.
            let small = towns[0]
            for index in towns.indices {
                deed.work(&towns[index], 0, moment)
                let clock = ContinuousClock()
                let time = clock.measure {
                    for number in 0..<count {
                        let person = (number &* 7919 &+ round) % sizes[index]
                        deed.work(&towns[index], person, moment)
                    }
                }
                rates[index].append(Double(count) / Benchmarks.seconds(time))
            }
            towns[0] = small
        }
        let middles = rates.map { $0.sorted()[rounds / 2] }
        Benchmarks.print(
            deed.name.padding(toLength: 35, withPad: " ", startingAt: 0)
                + middles.map { String(format: "%-10.0f", $0) }.joined()
                + String(format: "  %.2f", middles[1] / middles[0])
        )
    }

    private static let moment = Instant(milliseconds: 1_790_000_600_000)

    private static func settle(_ number: Int, _ town: inout Services) {
        for deed in [created, signedUp, bought] { deed.work(&town, number, moment) }
        for delivery in town.queue.take(by: moment).dropFirst(number % 2) {
            let schedule = town.schedule(of: delivery)
            town.queue.finish(
                delivery.number,
                status: 200,
                failure: nil,
                by: schedule,
                at: moment
            )
        }
    }

    // MARK: Deeds

    private static func call(
        _ name: String,
        _ party: Exchange.Party,
        _ method: String,
        _ path: @escaping (Int) -> String,
        _ body: @escaping (Int) -> JSONValue? = { _ in nil }
    ) -> Deed {
        Deed(name: name) { town, number, now in
            let path = path(number)
            let credential = path.contains("key=") ? "" : "Bearer owner"
            let request = HTTPMessage.Request(
                method,
                path,
                fields: [HTTPMessage.Field("Authorization", credential)],
                body: body(number)?.bytes ?? []
            )
            _ = town.respond(party, to: request, at: now)
            if party == .revenueCat { _ = town.settle(at: now) }
        }
    }

    private static var created: Deed {
        call(
            "OneSignal: user created",
            .oneSignal,
            "POST",
            { _ in "/apps/\(app)/users" }
        ) { number in
            [
                "identity": ["external_id": .string("user-\(number)")],
                "properties": ["tags": ["who": .string("user-\(number)"), "plan": "a"]],
                "subscriptions": [["type": "iOSPush", "token": .string("token-\(number)")]],
            ]
        }
    }

    private static var signedUp: Deed {
        call(
            "Firebase: sign-up",
            .firebase,
            "POST",
            { _ in "/v1/projects/demo-project/accounts" }
        ) { number in
            ["localId": .string("user-\(number)"), "email": .string("user-\(number)@example.com")]
        }
    }

    private static var bought: Deed {
        Deed(name: "RevenueCat: purchase") { town, number, now in
            var action = StoreAction(.purchase, user: "user-\(number)")
            action.product = "premium_monthly"
            try? town.revenueCat.carryOut(action, at: now)
            _ = town.settle(at: now)
        }
    }

    private static func user(_ number: Int) -> String {
        "/apps/\(app)/users/by/external_id/user-\(number)"
    }

    private static var deeds: [Deed] {
        var fresh = 1_000_000
        func new() -> Int {
            fresh += 1
            return fresh
        }
        return [
            Deed(name: created.name) { town, _, now in created.work(&town, new(), now) },
            call("OneSignal: user read", .oneSignal, "GET", user),
            call("OneSignal: tags written", .oneSignal, "PATCH", user) { _ in
                ["properties": ["tags": ["k": .string("\(new())")]]]
            },
            call("OneSignal: push to one", .oneSignal, "POST", { _ in "/notifications" }) {
                number in
                [
                    "app_id": .string(app), "contents": ["en": "x"], "target_channel": "push",
                    "include_aliases": ["external_id": [.string("user-\(number)")]],
                ]
            },
            call("OneSignal: push to all", .oneSignal, "POST", { _ in "/notifications" }) { _ in
                [
                    "app_id": .string(app), "contents": ["en": "x"],
                    "included_segments": ["All"],
                ]
            },
            call("OneSignal: push by tag", .oneSignal, "POST", { _ in "/notifications" }) {
                number in
                [
                    "app_id": .string(app), "contents": ["en": "x"],
                    "filters": [
                        [
                            "field": "tag", "key": "who", "relation": "=",
                            "value": .string("user-\(number)"),
                        ]
                    ],
                ]
            },
            call(
                "OneSignal: notifications listed",
                .oneSignal,
                "GET",
                { _ in "/notifications?app_id=\(app)&limit=5" }
            ),
            call(
                "OneSignal: players listed",
                .oneSignal,
                "GET",
                { _ in "/players?app_id=\(app)&limit=5" }
            ),
            Deed(name: signedUp.name) { town, _, now in signedUp.work(&town, new(), now) },
            call(
                "Firebase: lookup",
                .firebase,
                "POST",
                { _ in "/v1/projects/demo-project/accounts:lookup" }
            ) { number in ["email": [.string("user-\(number)@example.com")]] },
            call(
                "Firebase: page of accounts",
                .firebase,
                "GET",
                {
                    "/v1/projects/demo-project/accounts:batchGet?maxResults=5&nextPageToken=user-\($0)"
                }
            ),
            call(
                "Firebase: reset mail",
                .firebase,
                "POST",
                { _ in "/v1/accounts:sendOobCode?key=k" }
            ) { number in
                [
                    "requestType": "PASSWORD_RESET",
                    "email": .string("user-\(number)@example.com"),
                ]
            },
            call(
                "RevenueCat: read",
                .revenueCat,
                "GET",
                { "/v1/subscribers/user-\($0)" }
            ),
            Deed(name: bought.name) { town, _, now in bought.work(&town, new(), now) },
            call("RevenueCat: receipt", .revenueCat, "POST", { _ in "/v1/receipts" }) { _ in
                let number = new()
                return [
                    "app_user_id": .string("user-\(number)"), "product_id": "premium_yearly",
                    "fetch_token": .string("receipt-\(number)"),
                ]
            },
            Deed(name: "Purchasely: purchase") { town, _, now in
                let body: JSONObject = ["user": .string("user-\(new())")]
                try? town.purchasely.carryOut(.purchase, body, at: now)
                _ = town.settle(at: now)
            },
            call("Despia: command", .despia, "POST", { _ in "/bridge" }) { number in
                ["device": .string("user-\(number)"), "command": "getpurchasehistory://"]
            },
            Deed(name: "next due time") { town, _, _ in _ = town.nextMoment },
            Deed(name: "copy, first write") { town, number, now in
                let kept = town
                created.work(&town, new(), now)
                withExtendedLifetime(kept) {}
            },
        ]
    }
}
