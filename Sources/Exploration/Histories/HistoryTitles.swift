extension CustomerHistory {
    /// The title of the history in words, such as `Ada buys, cancels, buys; delivered after later
    /// events`.
    package var title: String {
        var stepDescriptions: [String] = []
        var last: String?
        for step in steps where step.operation.kind != .wait {
            let operation = step.operation
            let words =
                operation.kind == .irrelevantEvent
                ? "gets the event \(operation.type ?? "")" : operation.kind.words
            let productText =
                operation.product.map {
                    sellers.standardProducts.contains($0) ? "" : " (\($0))"
                } ?? ""
            let aliasText = operation.additionalID.map { ", also known as \($0)" } ?? ""
            let sourceUserText = operation.from.map { " of \($0)" + aliasText } ?? ""
            let isSameUser = last == operation.user
            let sellerText = sellers[operation.store].titleName.map { " at \($0)" } ?? ""
            stepDescriptions.append(
                (isSameUser ? "" : operation.user + " ") + words + productText + sourceUserText
                    + sellerText
            )
            last = operation.user
        }
        var placedFaults: [String] = []
        for placedFault in self.placedFaults where !placedFaults.contains(placedFault.fault.words) {
            placedFaults.append(placedFault.fault.words)
        }
        let stepsText = stepDescriptions.joined(separator: ", ")
        let text = ([stepsText] + placedFaults).joined(separator: "; ")
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    /// A short name for file names and IDs, made of the first operations and faults, such as
    /// `purchase-cancel-delayed`.
    package var slug: String {
        let operations = steps.filter { $0.operation.kind != .wait }.map(\.operation.kind.rawValue)
        var words: [String] = []
        for word in operations + placedFaults.map(\.fault.kind.rawValue) where words.last != word {
            words.append(word)
        }
        return words.prefix(6).joined(separator: "-")
    }

    /// The ID of the contract clause that the history tests when a backend shows only effects, such
    /// as pushes, and no state.
    var effectsClause: String {
        placedFaults.last.map(\.fault.clause) ?? "S-31"
    }

    /// The ID of the contract clause that the history tests: the clause of the last fault, or
    /// without faults the clause of the last operation.
    package var clause: String {
        if let placedFault = placedFaults.last { return placedFault.fault.clause }
        if steps.contains(where: { $0.operation.environment == "SANDBOX" }) { return "S-19" }
        let operations = steps.filter { ![.wait, .register].contains($0.operation.kind) }
        if let last = operations.last, last.operation.userIDLocation != nil { return "S-20" }
        guard let last = operations.last ?? steps.last else { return "S-10" }
        return sellers[last.operation.store].clause(of: last.operation, in: self)
    }
}
