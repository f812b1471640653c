extension Search {
    /// `vary`, while it is read.
    struct Generated: Hashable, Sendable {
        var variation = Variation.unknownTypes
        var count = 12

        static let grammar = Construct<Generated>(
            "vary",
            "'vary'",
            "One event is varied in a way that a tolerant receiver does not notice.",
            blank: { _ in Generated() }
        ) {
            Field.required("what", \.variation, .choice("variation"), "What is varied.")
            Field.value(
                "times",
                \.count,
                .count(1...200),
                default: 12,
                "How many variations are tried."
            )
        }
    }

    /// The keys of the three.
    static let keys = ["crash-points", "orders", "vary"]

    /// The key that asks for it.
    var key: String {
        switch self {
        case .crashPoints: "crash-points"
        case .orders: "orders"
        case .generated: "vary"
        }
    }

    /// How many orders are tried of more events than are permuted.
    static let usualSampleSize = 40
}

/// The three keys that make a contract stand for many runs.
extension Field where Owner == Contract {
    static var crashPoints: Field {
        .choice(
            "crash-points",
            \.search,
            .list(.choice("fault"), countMin: 1),
            embed: { Search.crashPoints($0) },
            extract: { if case .crashPoints(let faults) = $0 { faults } else { nil } },
            "Every call to a provider in the golden run fails once in each of these ways."
        )
    }

    static var orders: Field {
        let sizes = 2...200
        let syntax = Syntax<Int>(
            .either([.words(["every"]), .count(sizes)]),
            read: { node, reader in
                if node.json.int64 != nil { return reader.count(node, in: sizes) }
                return reader.word(node, "choice of orders (or a number)", among: ["every"])
                    .map { _ in Search.usualSampleSize }
            },
            write: { $0 == Search.usualSampleSize ? .plain("every") : .number($0) }
        )
        return .choice(
            "orders",
            \.search,
            syntax,
            embed: { Search.orders(sampleSize: $0) },
            extract: { if case .orders(let size) = $0 { size } else { nil } },
            "The events of `steps` come in every order, or in a sample of that size above five "
                + "events."
        )
    }

    static var vary: Field {
        .choice(
            "vary",
            \.search,
            Search.Generated.grammar.flow,
            embed: { Search.generated($0.variation, count: $0.count) },
            extract: { search in
                guard case .generated(let variation, let count) = search else { return nil }
                return Search.Generated(variation: variation, count: count)
            },
            "The one event of `steps` is varied in that way; what fails is made smaller and "
                + "written as a contract with `--found`."
        )
    }
}
