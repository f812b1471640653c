import Contracts
import Testing
import Values

@testable import Providers

/// The storage does what the standard library's does, and a copy never sees what is written to the
/// other.
struct StorageTests {
    @Test("a sorted set in blocks", arguments: 0..<10)
    func order(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var order = SharedSortedSet<Int>()
        var model: Set<Int> = []
        var kept: [(SharedSortedSet<Int>, [Int])] = []
        for round in 0..<3000 {
            let number = Int.random(in: 0..<2500, using: &generator)
            // It grows, and shrinks later, so that blocks part and join.
            if Int.random(in: 0..<10, using: &generator) < (round < 1800 ? 8 : 2) {
                order.insert(number)
                model.insert(number)
            } else {
                order.remove(number)
                model.remove(number)
            }
            if round % 600 == 0 { kept.append((order, model.sorted())) }
        }
        let sorted = model.sorted()
        #expect(order.all == sorted)
        #expect(order.count == sorted.count)
        #expect(order.first == sorted.first)
        for _ in 0..<50 {
            let number = Int.random(in: -10..<2600, using: &generator)
            let limit = Int.random(in: 0..<400, using: &generator)
            #expect(
                order.prefix(limit, after: number)
                    == Array(sorted.filter { $0 > number }.prefix(limit))
            )
            #expect(
                order.prefix(limit, from: number)
                    == Array(sorted.dropFirst(max(0, number)).prefix(limit))
            )
            #expect(order.first { $0 < number } == sorted.first { $0 >= number })
            let elements = order.elements(skipping: { $0 < number }, while: { $0 < number + limit })
            #expect(elements == sorted.filter { $0 >= number && $0 < number + limit })
        }
        for (copy, then) in kept { #expect(copy.all == then, "a copy stays as it was") }
    }

    @Test func `sets with the same elements are equal in any insertion order`() {
        var (one, other) = (SharedSortedSet<Int>(), SharedSortedSet<Int>())
        for number in 0..<1000 { one.insert(number) }
        for number in (0..<1000).reversed() { other.insert(number) }
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        other.remove(500)
        #expect(one != other)
    }

    @Test("ids below keys", arguments: 0..<6)
    func index(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var index = SharedIndex<String, Int>()
        var model: [String: Set<Int>] = [:]
        let keys = ["", "a", "ab", "b", "c"]
        for _ in 0..<3000 {
            let key = keys.randomElement(using: &generator) ?? ""
            // No id is the smallest that there can be.
            let id = Int.random(in: -300..<300, using: &generator)
            if Bool.random(using: &generator) {
                index.insert(id, under: key)
                model[key, default: []].insert(id)
            } else {
                index.remove(id, under: key)
                model[key]?.remove(id)
            }
        }
        func ids(_ keys: [String]) -> [Int] { keys.flatMap { (model[$0] ?? []).sorted() } }
        for key in keys + ["aa", "z"] {
            #expect(index.ids(under: key) == ids([key]))
            #expect(index.firstID(under: key) == ids([key]).first)
            #expect(index.entries(through: key).map(\.id) == ids(keys.filter { $0 <= key }))
        }
        #expect(index.first?.id == ids(keys).first)
        #expect(index.ids(7, from: 100) == Array(ids(keys).dropFirst(100).prefix(7)))
        let together = index.ids(skipping: { $0 < "a" }, while: { $0.hasPrefix("a") })
        #expect(together == ids(["a", "ab"]))
    }

    @Test("a table whose copies share", arguments: 0..<6)
    func table(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var table: SharedTable<String, Int> = [:]
        var model: [String: Int] = [:]
        var kept: (SharedTable<String, Int>, [String: Int])?
        for round in 0..<2000 {
            let key = "k\(Int.random(in: 0..<300, using: &generator))"
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: #expect(table.removeValue(forKey: key) == model.removeValue(forKey: key))
            case 1:
                table[key, default: 7] += 1
                model[key, default: 7] += 1
            default:
                table[key] = round
                model[key] = round
            }
            if round == 1000 { kept = (table, model) }
        }
        func plain(_ table: SharedTable<String, Int>) -> [String: Int] {
            var plain: [String: Int] = [:]
            for key in table.keys { plain[key] = table[key] }
            return plain
        }
        #expect(plain(table) == model)
        #expect(table.count == model.count)
        #expect(table.values.sorted() == model.values.sorted())
        let (copy, then) = try #require(kept)
        #expect(plain(copy) == then)
        let written = try JSONValue(encoding: table)
        #expect(written == (try JSONValue(encoding: model)), "saved as a dictionary is")
        #expect(try written.decoded(as: SharedTable<String, Int>.self) == table)
    }

    @Test func `a log keeps the order of what is there`() {
        var log = SharedLog<Int>([1, 2, 3]) { "\($0)" }
        log.append(4, as: "2")
        log.remove("1")
        log.remove("none")
        #expect(log.all == [3, 4])
        #expect(log["2"] == 4)
        #expect(log["1"] == nil)
    }

    // MARK: Who went

    @Test func `accounts that went take no place in a page`() {
        var users = FirebaseUserDirectory()
        let now = Instant(milliseconds: 0)
        for id in ["a", "b", "c", "d"] { users.save(FirebaseUser(localID: id, created: now)) }
        users.remove("b")
        users.remove("b")
        #expect(users.page(2, after: nil).map(\.localID) == ["a", "c"])
        #expect(users.page(2, after: "b").map(\.localID) == ["c", "d"])
    }

    @Test func `a replaced email address finds the user only as the initial address`() {
        var users = FirebaseUserDirectory()
        var user = FirebaseUser(localID: "a", created: Instant(milliseconds: 0))
        user.email = "old@example.com"
        user.initialEmail = "old@example.com"
        users.save(user)
        user.email = "new@example.com"
        users.save(user)
        #expect(users.mentioning("old@example.com").isEmpty)
        #expect(users.mentioning("NEW@example.com").map(\.localID) == ["a"])
        #expect(users.initialOwner(of: "old@example.com")?.localID == "a")
        users.remove("a")
        #expect(users.initialOwner(of: "old@example.com") == nil)
    }

    @Test(
        "notifications of more than thirty days ago are not listed",
        arguments: [3, 29, 30, 31, 32, 33]
    )
    func purged(days: Int64) {
        var talk = ProviderClient(OneSignalState(key: nil))
        let app = OneSignalState.defaultAppID
        let push: JSONValue = [
            "app_id": .string(app), "contents": ["en": "x"], "included_segments": ["All"],
        ]
        for _ in 0..<3 {
            talk.say("POST", "/notifications", push)
            talk.wait(.seconds(86_400))
        }
        talk.wait(.seconds((days - 3) * 86_400))
        // They are as old as that, and one and two days less.
        let left = [days, days - 1, days - 2].count { $0 <= 30 }
        let listed = talk.say("GET", "/notifications?app_id=\(app)&limit=2")
        #expect(listed["/total_count"] == .integer(Int64(left)))
        #expect(listed["/notifications"]?.array?.count == min(2, left))
        let rest = talk.say("GET", "/notifications?app_id=\(app)&limit=2&offset=2")
        #expect(rest["/notifications"]?.array?.count == max(0, left - 2))
    }

    // MARK: Saved and read again

    /// Everything that is found by an index is found after a state was saved and read.
    @Test func `indexes are found again`() throws {
        let now = Instant(milliseconds: 1_790_000_000_000)
        var services = Services(seed: 3)
        services.revenueCat.setWebhookTarget(WebhookTarget(url: "http://127.0.0.1:9/"))
        services.purchasely.setWebhookTarget(WebhookTarget(url: "http://127.0.0.1:9/"))
        for number in 0..<5 {
            let id = "user-\(number)"
            try services.revenueCat.carryOut(StoreAction(.purchase, user: id), at: now)
            try services.purchasely.carryOut(.purchase, ["user": .string(id)], at: now)
            let body: JSONValue = [
                "identity": ["external_id": .string(id)],
                "properties": ["tags": ["who": .string(id)]],
                "subscriptions": [["type": "iOSPush", "token": .string(id)]],
            ]
            let user = HTTPMessage.Request(
                "POST",
                "/apps/\(OneSignalState.defaultAppID)/users",
                body: body.bytes
            )
            _ = services.respond(.oneSignal, to: user, at: now)
            let account: JSONValue = [
                "email": .string(id + "@example.com"), "password": "secret-1",
            ]
            let path = "/v1/accounts:signUp?key=k"
            let sign = HTTPMessage.Request("POST", path, body: account.bytes)
            _ = services.respond(.firebase, to: sign, at: now)
        }
        _ = services.settle(at: now)
        for delivery in services.queue.take(by: now).prefix(3) {
            services.queue.finish(
                delivery.number,
                status: 200,
                failure: nil,
                by: .revenueCat,
                at: now
            )
        }
        var read = try JSONValue(encoding: services).decoded(as: Services.self)
        #expect(read == services)
        #expect(read.nextChangeTime == services.nextChangeTime)
        let id = try #require(services.revenueCat.customer("user-3")?.purchases.first)
        #expect(read.revenueCat.purchase(withTransaction: id.transactionID) == id)
        #expect(read.purchasely.subscriptions.subscriptionsOwned(by: "user-3").count == 1)
        let app = try #require(read.oneSignal.apps[OneSignalState.defaultAppID])
        #expect(app.users(tagged: "who", "user-3").count == 1)
        #expect(app.reachable == ["ios": 5])
        #expect(app.subscriptions(2, from: 1).count == 2)
        let project = try #require(read.firebase.projects.values.first)
        #expect(project.users.mentioning("user-3@example.com").count == 1)
        #expect(project.users.all.count == 5)
        read.queue.recoverUnderwayDeliveries()
        #expect(read.queue.take(by: now).count == 7, "those that were underway are due again")
    }
}
