import TestSupport
import Testing
import Values

/// The journal against the plainest one there could be: a list that forgets nothing.
///
/// Whatever is written, completed and forgotten, what the journal still holds is what the list
/// holds, and what it no longer holds it never takes for something that did not happen.
@Suite("Journal against a model")
struct JournalModelTests {
    private struct RandomWalk {
        var made: ArbitraryValues
        var journal: Journal
        var model: [Exchange] = []
        let namespaces = ["a", "b", "", "caf\u{e9}", "cafe\u{301}"]

        init(seed: UInt64) {
            made = ArbitraryValues(seed: seed)
            journal = Journal(bytesMax: made.one(of: [600, 2000, 8000, 1 << 20]))
        }

        mutating func step() {
            if model.isEmpty || made.int(0...2) > 0 { append() } else { complete() }
        }

        private mutating func append() {
            var exchange = Exchange(
                from: made.one(of: Exchange.Party.nonProviders + [Exchange.Party("service")]),
                to: made.one(of: Exchange.Party.nonProviders + [Exchange.Party("service")]),
                namespace: made.one(of: namespaces),
                purpose: made.one(of: [
                    .call, .sentinel, .appCall("x"), .userAction("tap"), .screen,
                ]),
                at: Instant(milliseconds: Int64(made.int(-5...5))),
                request: HTTPMessage.Request("POST", "/" + made.text(), body: made.bytes(200)),
                invoked: Int64(model.count)
            )
            let number = journal.append(exchange)
            #expect(number == model.count, "numbers have no gaps")
            exchange.sequence = number
            model.append(exchange)
        }

        private mutating func complete() {
            let number = made.int(0...(model.count - 1))
            let outcome = made.one(of: [
                Exchange.Outcome.answered(HTTPMessage.Response(200, body: made.bytes(300))),
                .failed(.closed, made.text()), .answerLost(nil), .requestCut,
            ])
            let effects = (0..<made.int(0...2)).map { index in
                Effect(kind: "k\(index)", recipients: [made.text()], content: made.json())
            }
            let namespace = made.bool() ? made.one(of: namespaces) : nil
            let time = Int64(model.count + made.int(0...9))
            journal.complete(number, outcome, effects: effects, namespace: namespace, at: time)
            model[number].outcome = outcome
            model[number].effects = effects
            model[number].completed = time
            if let namespace { model[number].namespace = namespace }
        }
    }

    @Test("the journal holds the entries that were written", arguments: 0..<UInt64(40))
    func holds(seed: UInt64) {
        var walk = RandomWalk(seed: seed)
        for _ in 0..<120 {
            walk.step()
            let (journal, model) = (walk.journal, walk.model)
            let first = journal.droppedEntryCount
            #expect(journal.byteCount <= journal.bytesMax || journal.count == 1)
            #expect(journal.nextSequence == model.count)
            #expect(journal.count + first == model.count)
            #expect(journal.isComplete(since: first))
            #expect(first == 0 || !journal.isComplete(since: first - 1))
        }
        let (journal, model) = (walk.journal, walk.model)
        let held = Array(model[journal.droppedEntryCount...])
        #expect(journal.exchanges == held)
        for number in model.indices {
            let found = journal.exchange(number)
            #expect((found == nil) == (number < journal.droppedEntryCount))
        }
        #expect(journal.exchange(-1) == nil && journal.exchange(model.count) == nil)
    }

    @Test("entries of a namespace are found from any number on", arguments: 0..<UInt64(30))
    func finds(seed: UInt64) {
        var walk = RandomWalk(seed: seed)
        for _ in 0..<60 { walk.step() }
        let (journal, model) = (walk.journal, walk.model)
        let held = model[journal.droppedEntryCount...]
        for namespace in walk.namespaces {
            for start in [
                0, journal.droppedEntryCount, model.count / 2, model.count, model.count + 9,
            ] {
                let expected = held.filter { $0.namespace == namespace && $0.sequence >= start }
                let found = journal.exchanges(in: namespace, from: start)
                #expect(found.map(\.sequence) == expected.map(\.sequence))
                let last = expected.map { max($0.invoked, $0.completed ?? -1) }.max()
                #expect(journal.lastActivityTime(in: namespace, from: start) == last)
            }
        }
    }

    @Test("pages follow each other without gaps", arguments: 0..<UInt64(30))
    func pages(seed: UInt64) {
        var walk = RandomWalk(seed: seed)
        for _ in 0..<80 { walk.step() }
        let journal = walk.journal
        let wanted = { (exchange: Exchange) in exchange.from == .backend || exchange.from == .app }
        for limit in [1, 3, 1000] {
            var found: [Int] = []
            var last = -1
            for _ in 0..<200 {
                let page = journal.page(after: last, limit: limit, where: wanted)
                #expect(page.exchanges.count <= limit)
                #expect(page.last >= last, "a reader never goes back")
                found += page.exchanges.map(\.sequence)
                if page.last == last { break }
                last = page.last
            }
            #expect(found == journal.exchanges.filter(wanted).map(\.sequence))
            #expect(last == journal.nextSequence - 1 || journal.count == 0)
        }
    }

    @Test("the last backend call in each namespace", arguments: 0..<UInt64(30))
    func lastBackendCallTimes(seed: UInt64) {
        var walk = RandomWalk(seed: seed)
        for _ in 0..<80 { walk.step() }
        var expected: [String: Int64] = [:]
        for exchange in walk.journal.exchanges where exchange.from == .backend {
            let time = max(exchange.invoked, exchange.completed ?? 0)
            expected[exchange.namespace] = max(expected[exchange.namespace] ?? 0, time)
        }
        #expect(walk.journal.lastBackendCallTimes() == expected)
    }

    /// What the verdict rests on: with a gap since the run began nothing may be said to be missing.
    @Test func `a gap begins at the first forgotten number`() {
        var journal = Journal(bytesMax: 4000)
        var walk = RandomWalk(seed: 1)
        var began: [Int] = []
        for _ in 0..<200 {
            began.append(journal.nextSequence)
            walk.step()
            guard let exchange = walk.model.last else { continue }
            _ = journal.append(exchange)
        }
        for start in began {
            #expect(journal.isComplete(since: start) == (start >= journal.droppedEntryCount))
        }
        #expect(began.contains { !journal.isComplete(since: $0) })
        #expect(began.contains { journal.isComplete(since: $0) })
    }
}
