package import Judging
internal import Providers

/// The signature of a failed history: the finding code and the subject of the finding.
///
/// Failed histories with the same signature count as one failure.
package struct FailureSignature: Hashable, Sendable {
    package let code: FindingCode
    /// The state field or the kind of effect, such as a push, that the finding concerns; empty when
    /// there is none.
    package let findingSubject: String

    /// Creates the failure signature of a finding, and derives the subject from the finding.
    ///
    /// - Parameter finding: The first finding of a failed history.
    package init(_ finding: Finding) {
        code = finding.code
        switch finding.code {
        // For the expectation `access of ada is true`, the subject is `access true`. Access without
        // payment and missing access therefore have different signatures.
        case .wrongStateValue:
            let words = finding.expected.split(separator: " ").map(String.init)
            let value = words.last.flatMap { ["true", "false"].contains($0) ? $0 : nil }
            findingSubject = [words.first, value].compactMap(\.self).joined(separator: " ")
        default: findingSubject = ""
        }
    }

    /// Creates the failure signature of a finding with a given subject.
    ///
    /// - Parameters:
    ///   - finding: The first finding of a failed history.
    ///   - findingSubject: The subject of the finding, such as the name of a state field.
    package init(_ finding: Finding, about findingSubject: String) {
        (code, self.findingSubject) = (finding.code, findingSubject)
    }

    /// The signature as reports print it: the finding code, followed by the subject if there is
    /// one.
    package var words: String {
        findingSubject.isEmpty ? code.rawValue : "\(code.rawValue) \(findingSubject)"
    }
}

extension CustomerHistory {
    /// Returns whether this history and the other history may fail for the same reason.
    ///
    /// The result is true when this history has all operations of the other history, in the same
    /// order, and all of its kinds of faults. If the other history has a user who is not registered
    /// at first, this history must have such a user too.
    package func contains(_ other: CustomerHistory) -> Bool {
        var unmatchedSignatures = other.operationSignatures[...]
        for part in operationSignatures where unmatchedSignatures.first.map(part.covers) ?? false {
            unmatchedSignatures.removeFirst()
        }
        guard unmatchedSignatures.isEmpty else { return false }
        let kinds = Set(placedFaults.map(\.fault.kind))
        guard other.placedFaults.allSatisfy({ kinds.contains($0.fault.kind) }) else {
            return false
        }
        let hasUnknownUser = { (history: CustomerHistory) in
            history.users.contains { $0.arrival == .unknown }
        }
        return hasUnknownUser(self) || !hasUnknownUser(other)
    }

    /// Returns the ID of a failed history, which depends only on the operations, the faults and the
    /// failure signature.
    ///
    /// - Parameter failureSignature: The failure signature.
    /// - Returns: The slug of the history, and six hexadecimal digits that depend on the
    ///   operations, the faults and the signature.
    package func failureID(_ failureSignature: FailureSignature) -> String {
        let kinds = Set(placedFaults.map(\.fault.kind)).sorted()
        let hasUnknownUser = users.contains { $0.arrival == .unknown }
        var lines: [String] = [failureSignature.words, hasUnknownUser ? "a stranger" : ""]
        for part in operationSignatures { lines.append(part.text) }
        lines += kinds.map(\.rawValue)
        let text = lines.joined(separator: "\n")
        return "\(slug)-\(CampaignInput.hexHash(of: text))"
    }

    /// The operations of the history without users, times and default values such as the usual store.
    private var operationSignatures: [OperationSignature] {
        steps.map(\.operation).filter { $0.kind != .wait }.map {
            OperationSignature($0, sellers[$0.store])
        }
    }

    private struct OperationSignature: Hashable {
        let kind: HistoryOperation.Kind
        /// The words of the seller (`SellerModel.signatureWords`).
        let sellerWords: [String]
        let isSandbox: Bool
        let isDeferred: Bool
        let hasAdditionalID: Bool
        let hasEffectDuration: Bool
        var store: String?
        var period: String?
        var reason: String?
        var userIDLocation: String?
        let type: String?

        init(_ operation: HistoryOperation, _ seller: any SellerModel.Type) {
            kind = operation.kind
            sellerWords = seller.signatureWords(of: operation)
            isSandbox = operation.environment == "SANDBOX"
            isDeferred = operation.isDeferred
            hasAdditionalID = operation.additionalID != nil
            hasEffectDuration = operation.effectDuration != nil
            store = operation.store == seller.defaultStore ? nil : operation.store
            period = operation.period == "NORMAL" ? nil : operation.period
            reason = operation.reason
            userIDLocation = operation.userIDLocation
            type = operation.type
        }

        /// Returns whether this operation equals the smaller history's operation, apart from
        /// unusual details such as a store or a period type.
        ///
        /// A history that was shrunk keeps an unusual detail only if the history does not fail
        /// without that detail.
        func covers(_ simplerSignature: OperationSignature) -> Bool {
            var strippedSignature = self
            if simplerSignature.store == nil { strippedSignature.store = nil }
            if simplerSignature.period == nil { strippedSignature.period = nil }
            if simplerSignature.reason == nil { strippedSignature.reason = nil }
            if simplerSignature.userIDLocation == nil { strippedSignature.userIDLocation = nil }
            return strippedSignature == simplerSignature
        }

        var text: String {
            var words = [kind.rawValue] + sellerWords
            if isSandbox { words.append("sandbox") }
            if isDeferred { words.append("deferred") }
            if hasAdditionalID { words.append("several") }
            if hasEffectDuration { words.append("span") }
            for text in [store, period, reason, userIDLocation, type] {
                if let text { words.append(text) }
            }
            return words.joined(separator: " ")
        }
    }
}
