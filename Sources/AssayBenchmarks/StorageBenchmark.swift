internal import Foundation
internal import Providers
internal import Values

/// Compares the cost of calls to fakes with 100 users and with 100,000 users, without a network.
enum StorageBenchmark {
    /// A kind of API call that is measured, each time for another user.
    private struct MeasuredOperation {
        let name: String
        let work: (inout Services, Int, Instant) -> Void
    }

    private static let userCounts = [100, 100_000]
    /// The number of repetitions of an operation in one measurement.
    private static let operationCount = 2000
    private static let roundCount = 5
    private static let appID = OneSignalState.defaultAppID

    static func run() {
        var servicesBySize: [Services] = []
        for size in userCounts {
            let residentBytesBefore = Benchmarks.residentBytes()
            let clock = ContinuousClock()
            let startInstant = clock.now
            var services = Services(seed: 1)
            services.revenueCat.setWebhookTarget(WebhookTarget(url: "http://127.0.0.1:9/"))
            for number in 0..<size { settle(number, &services) }
            servicesBySize.append(services)
            let elapsedSeconds = Benchmarks.seconds(clock.now - startInstant)
            let bytesPerUser =
                Double(Benchmarks.residentBytes() - residentBytesBefore) / Double(size)
            Benchmarks.print(
                "\(size) users created".padding(toLength: 35, withPad: " ", startingAt: 0)
                    + String(
                        format: "%8.0f /s, %.1f KB each",
                        Double(size) / elapsedSeconds,
                        bytesPerUser / 1024
                    )
            )
        }
        Benchmarks.print(
            "per second, by number of users     "
                + userCounts.map { "\($0)".padding(toLength: 10, withPad: " ", startingAt: 0) }
                .joined()
                + "  ratio"
        )
        for measuredOperation in measuredOperations {
            printOperationRates(measuredOperation, &servicesBySize)
        }
    }

    /// Measures an operation with few and with many users, in turns, so that both have the same
    /// conditions.
    private static func printOperationRates(
        _ measuredOperation: MeasuredOperation,
        _ servicesBySize: inout [Services]
    ) {
        var roundRates: [[Double]] = userCounts.map { _ in [] }
        for round in 0..<roundCount {
            // The state with few users is restored after each round. The state with many users is
            // changed in place, because the first writes after a copy are slower and are measured
            // separately.
            let smallServices = servicesBySize[0]
            for index in servicesBySize.indices {
                measuredOperation.work(&servicesBySize[index], 0, operationTime)
                let clock = ContinuousClock()
                let elapsedTime = clock.measure {
                    for number in 0..<operationCount {
                        let userNumber = (number &* 7919 &+ round) % userCounts[index]
                        measuredOperation.work(&servicesBySize[index], userNumber, operationTime)
                    }
                }
                roundRates[index].append(Double(operationCount) / Benchmarks.seconds(elapsedTime))
            }
            servicesBySize[0] = smallServices
        }
        let medianRates = roundRates.map { $0.sorted()[roundCount / 2] }
        Benchmarks.print(
            measuredOperation.name.padding(toLength: 35, withPad: " ", startingAt: 0)
                + medianRates.map { String(format: "%-10.0f", $0) }.joined()
                + String(format: "  %.2f", medianRates[1] / medianRates[0])
        )
    }

    private static let operationTime = Instant(milliseconds: 1_790_000_600_000)

    private static func settle(_ number: Int, _ services: inout Services) {
        for measuredOperation in [userCreation, signUpOperation, purchaseOperation] {
            measuredOperation.work(&services, number, operationTime)
        }
        for delivery in services.queue.take(by: operationTime).dropFirst(number % 2) {
            let retrySchedule = services.retrySchedule(of: delivery)
            services.queue.finish(
                delivery.number,
                status: 200,
                failure: nil,
                by: retrySchedule,
                at: operationTime
            )
        }
    }

    // MARK: Operations

    private static func requestOperation(
        _ name: String,
        _ party: Exchange.Party,
        _ method: String,
        _ path: @escaping (Int) -> String,
        _ body: @escaping (Int) -> JSONValue? = { _ in nil }
    ) -> MeasuredOperation {
        MeasuredOperation(name: name) { services, number, now in
            let path = path(number)
            let credential = path.contains("key=") ? "" : "Bearer owner"
            let request = HTTPMessage.Request(
                method,
                path,
                fields: [HTTPMessage.Field("Authorization", credential)],
                body: body(number)?.bytes ?? []
            )
            _ = services.respond(party, to: request, at: now)
            if party == .revenueCat { _ = services.settle(at: now) }
        }
    }

    private static var userCreation: MeasuredOperation {
        requestOperation(
            "OneSignal: user created",
            .oneSignal,
            "POST",
            { _ in "/apps/\(appID)/users" }
        ) { number in
            [
                "identity": ["external_id": .string("user-\(number)")],
                "properties": ["tags": ["who": .string("user-\(number)"), "plan": "a"]],
                "subscriptions": [["type": "iOSPush", "token": .string("token-\(number)")]],
            ]
        }
    }

    private static var signUpOperation: MeasuredOperation {
        requestOperation(
            "Firebase: sign-up",
            .firebase,
            "POST",
            { _ in "/v1/projects/demo-project/accounts" }
        ) { number in
            ["localId": .string("user-\(number)"), "email": .string("user-\(number)@example.com")]
        }
    }

    private static var purchaseOperation: MeasuredOperation {
        MeasuredOperation(name: "RevenueCat: purchase") { services, number, now in
            var action = StoreAction(.purchase, user: "user-\(number)")
            action.product = "premium_monthly"
            try? services.revenueCat.carryOut(action, at: now)
            _ = services.settle(at: now)
        }
    }

    private static func user(_ number: Int) -> String {
        "/apps/\(appID)/users/by/external_id/user-\(number)"
    }

    private static var measuredOperations: [MeasuredOperation] {
        var nextUserNumber = 1_000_000
        func newUserNumber() -> Int {
            nextUserNumber += 1
            return nextUserNumber
        }
        return [
            MeasuredOperation(name: userCreation.name) { services, _, now in
                userCreation.work(&services, newUserNumber(), now)
            },
            requestOperation("OneSignal: user read", .oneSignal, "GET", user),
            requestOperation("OneSignal: tags written", .oneSignal, "PATCH", user) { _ in
                ["properties": ["tags": ["k": .string("\(newUserNumber())")]]]
            },
            requestOperation(
                "OneSignal: push to one",
                .oneSignal,
                "POST",
                { _ in "/notifications" }
            ) {
                number in
                [
                    "app_id": .string(appID), "contents": ["en": "x"], "target_channel": "push",
                    "include_aliases": ["external_id": [.string("user-\(number)")]],
                ]
            },
            requestOperation(
                "OneSignal: push to all",
                .oneSignal,
                "POST",
                { _ in "/notifications" }
            ) { _ in
                [
                    "app_id": .string(appID), "contents": ["en": "x"],
                    "included_segments": ["All"],
                ]
            },
            requestOperation(
                "OneSignal: push by tag",
                .oneSignal,
                "POST",
                { _ in "/notifications" }
            ) {
                number in
                [
                    "app_id": .string(appID), "contents": ["en": "x"],
                    "filters": [
                        [
                            "field": "tag", "key": "who", "relation": "=",
                            "value": .string("user-\(number)"),
                        ]
                    ],
                ]
            },
            requestOperation(
                "OneSignal: notifications listed",
                .oneSignal,
                "GET",
                { _ in "/notifications?app_id=\(appID)&limit=5" }
            ),
            requestOperation(
                "OneSignal: players listed",
                .oneSignal,
                "GET",
                { _ in "/players?app_id=\(appID)&limit=5" }
            ),
            MeasuredOperation(name: signUpOperation.name) { services, _, now in
                signUpOperation.work(&services, newUserNumber(), now)
            },
            requestOperation(
                "Firebase: lookup",
                .firebase,
                "POST",
                { _ in "/v1/projects/demo-project/accounts:lookup" }
            ) { number in ["email": [.string("user-\(number)@example.com")]] },
            requestOperation(
                "Firebase: page of accounts",
                .firebase,
                "GET",
                {
                    "/v1/projects/demo-project/accounts:batchGet?maxResults=5&nextPageToken=user-\($0)"
                }
            ),
            requestOperation(
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
            requestOperation(
                "RevenueCat: read",
                .revenueCat,
                "GET",
                { "/v1/subscribers/user-\($0)" }
            ),
            MeasuredOperation(name: purchaseOperation.name) { services, _, now in
                purchaseOperation.work(&services, newUserNumber(), now)
            },
            requestOperation("RevenueCat: receipt", .revenueCat, "POST", { _ in "/v1/receipts" }) {
                _ in
                let number = newUserNumber()
                return [
                    "app_user_id": .string("user-\(number)"), "product_id": "premium_yearly",
                    "fetch_token": .string("receipt-\(number)"),
                ]
            },
            MeasuredOperation(name: "Purchasely: purchase") { services, _, now in
                let body: JSONObject = ["user": .string("user-\(newUserNumber())")]
                try? services.purchasely.carryOut(.purchase, body, at: now)
                _ = services.settle(at: now)
            },
            requestOperation("Despia: command", .despia, "POST", { _ in "/bridge" }) { number in
                ["device": .string("user-\(number)"), "command": "getpurchasehistory://"]
            },
            MeasuredOperation(name: "next due time") { services, _, _ in _ = services.nextChangeTime
            },
            MeasuredOperation(name: "copy, first write") { services, number, now in
                let retainedCopy = services
                userCreation.work(&services, newUserNumber(), now)
                withExtendedLifetime(retainedCopy) {}
            },
        ]
    }
}
