internal import Conformance
internal import Providers

/// Exchanges, a page at a time and as they end.
extension ControlAPI {
    struct JournalFilter: Sendable {
        let namespace: String?
        let party: Exchange.Party?
        let hasEffects: Bool

        func passes(_ exchange: Exchange) -> Bool {
            (namespace == nil || exchange.namespace == namespace)
                && (party == nil || exchange.from == party || exchange.to == party)
                && (!hasEffects || !exchange.effects.isEmpty)
        }
    }

    func filter(_ call: Call) throws(Refusal) -> (JournalFilter, after: Int, limit: Int) {
        var party: Exchange.Party?
        if let name = call.query("party") {
            party = Exchange.Party.allCases.first { $0.description == name }
            guard party != nil else {
                let names = Exchange.Party.allCases.map(\.description).joined(separator: ", ")
                throw Refusal(400, "'party' is '\(name)', which is none of \(names)")
            }
        }
        let after = try number(call, "after", -1)
        let limit = try number(call, "limit", 100)
        guard (1...1000).contains(limit) else { throw Refusal(400, "'limit' takes 1 to 1000") }
        let filter = JournalFilter(
            namespace: call.query("all") == "true" ? nil : call.namespace,
            party: party,
            hasEffects: call.query("effects") == "true"
        )
        return (filter, after, limit)
    }

    func number(_ call: Call, _ name: String, _ normal: Int) throws(Refusal) -> Int {
        guard let text = call.query(name) else { return normal }
        guard let number = Int(text) else {
            throw Refusal(400, "'\(name)' is '\(text)', which is no number")
        }
        return number
    }

    func journal(_ call: Call) throws(Refusal) -> JSONValue {
        let (filter, after, limit) = try filter(call)
        let (page, last, forgotten, next) = world.journal.read { journal in
            let page = journal.page(after: after, limit: limit, where: filter.passes)
            return (page.exchanges, page.last, journal.forgottenCount, journal.nextSequence)
        }
        let redaction = JournalLine.redaction(declared)
        return [
            "entries": .array(page.map { JournalLine.value($0, redaction) }),
            "after": .integer(Int64(last)),
            "more": .bool(last + 1 < next),
            // A full journal cannot prove that something did not happen.
            "forgotten": .integer(Int64(forgotten)),
        ]
    }

    func stream(_ call: Call) throws(Refusal) -> AsyncStream<String> {
        let (filter, after, _) = try filter(call)
        let journal = world.journal
        let numbers = journal.follow()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            var seen = after
            // Entries that were there and had not ended; they come later, with a lower number.
            var unfinished: Set<Int> = []
            // First what is there, then what comes.
            while true {
                let page = journal.read {
                    $0.page(after: seen, limit: 500, where: filter.passes)
                }
                for exchange in page.exchanges {
                    if exchange.completed == nil {
                        unfinished.insert(exchange.sequence)
                    } else {
                        continuation.yield(
                            JournalLine.value(exchange, JournalLine.redaction(declared)).text
                        )
                    }
                }
                guard page.last > seen else { break }
                seen = page.last
            }
            for await number in numbers {
                let exchange = journal.read { $0.exchange(number) }
                let isNew = number > seen || unfinished.remove(number) != nil
                guard let exchange, isNew, filter.passes(exchange) else { continue }
                continuation.yield(
                    JournalLine.value(exchange, JournalLine.redaction(declared)).text
                )
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return lines
    }
}
