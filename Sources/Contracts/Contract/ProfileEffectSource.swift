internal import Providers
package import Values

extension Profile {
    /// A read-only query that lists the messages which the backend has for one user, such as the rows
    /// of an outbox or the emails of a test server.
    ///
    /// Its items replace pushes in the contracts that only count or compare messages.
    package struct EffectSource: Hashable, Codable, Sendable {
        /// The query, whose name in records begins with `effects.`.
        package var probe: Probe
        /// The location of the list in the response.
        package var listPointer: JSONPointer
        /// The location of an item's key in the item.
        package var keyPointer: JSONPointer
        /// The location of the text in an item; nil: texts are not compared.
        package var textPointer: JSONPointer?
        /// The location of the title or the type in an item; nil: titles are not compared.
        package var titlePointer: JSONPointer?

        package init(probe: Probe, listPointer: JSONPointer, keyPointer: JSONPointer) {
            self.probe = probe
            self.listPointer = listPointer
            self.keyPointer = keyPointer
        }

        /// The beginning of the query's name in records, which no state probe has.
        package static let namePrefix = "effects."

        /// The name in the profile.
        package var name: String { String(probe.name.dropFirst(Self.namePrefix.count)) }

        /// Whether the content of two items can be compared.
        package var showsContent: Bool { textPointer != nil || titlePointer != nil }
    }

    /// Whether pushes, or messages that replace them, can be observed.
    package var canShowMessages: Bool {
        !unsupportedFeatures.contains(.push) || !effectSources.isEmpty
    }

    /// Returns the reason why this profile does not allow a contract; nil when the contract can run.
    package func skipReason(to contract: Contract) -> String? {
        contract.allRequiredFeatures.lazy.filter { feature in
            feature != .push || !replacesPushes(of: contract)
        }.compactMap(skipReason).first
    }

    /// Whether the items of the effect sources replace the pushes of a contract.
    ///
    /// They do when the contract only counts and compares messages. It must not concern the push
    /// service itself: its responses, addresses, idempotency keys or retries.
    private func replacesPushes(of contract: Contract) -> Bool {
        guard !effectSources.isEmpty else { return false }
        let plansPushService = (contract.given + contract.steps).contains { step in
            guard case .provider(let plan) = step else { return false }
            return ProviderTable.all[plan.provider]?.effects.isEmpty == false
        }
        let comparesContent = contract.expectation.effects.contains {
            $0.userWithOtherContent != nil
        }
        return !plansPushService
            && contract.expectation.effects.allSatisfy(\.concernsMessagesOnly)
            && (!comparesContent || effectSources.allSatisfy(\.showsContent))
    }
}

extension EffectExpectation {
    /// Whether the expectation only counts and compares messages, by whichever channel they come.
    fileprivate var concernsMessagesOnly: Bool {
        ProviderTable.all.effect(kind)?.feature == .push && allowedAddresses == nil
            && attemptsMax == nil && !obeysRetryAfter && audience == nil
            && idempotencyKeyCount == nil && !requiresSameIdempotencyKey && expectedContent == nil
    }
}
