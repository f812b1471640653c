internal import Conformance

extension Life {
    /// The title of the history in words, such as `Ada buys, cancels, buys; delivered after later
    /// events`.
    package var title: String {
        var parts: [String] = []
        var last: String?
        for step in steps where step.act.kind != .wait {
            let act = step.act
            let words = act.kind == .tell ? "gets the event \(act.type ?? "")" : act.kind.words
            let more =
                act.product.map {
                    [LifeModel.monthly, PlanModel.monthly].contains($0) ? "" : " (\($0))"
                } ?? ""
            let alias = act.also.map { ", also known as \($0)" } ?? ""
            let other = act.from.map { " of \($0)" + alias } ?? ""
            let isSame = last == act.user
            let seller = act.isOfPlans ? " at \(Message.planSeller)" : ""
            parts.append((isSame ? "" : act.user + " ") + words + more + other + seller)
            last = act.user
        }
        var mishaps: [String] = []
        for mishap in self.mishaps where !mishaps.contains(mishap.disturbance.words) {
            mishaps.append(mishap.disturbance.words)
        }
        let story = parts.joined(separator: ", ")
        let text = ([story] + mishaps).joined(separator: "; ")
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    /// A short name for file names and IDs, made of the first operations and faults, such as
    /// `purchase-cancel-delayed`.
    package var slug: String {
        let acts = steps.filter { $0.act.kind != .wait }.map(\.act.kind.rawValue)
        var words: [String] = []
        for word in acts + mishaps.map(\.disturbance.kind.rawValue) where words.last != word {
            words.append(word)
        }
        return words.prefix(6).joined(separator: "-")
    }

    /// The ID of the contract clause that the history tests when a backend shows only effects, such
    /// as pushes, and no state.
    var clauseOfEffects: String {
        mishaps.last.map(\.disturbance.clause) ?? "S-31"
    }

    /// The ID of the contract clause that the history tests: the clause of the last fault, or
    /// without faults the clause of the last operation.
    package var clause: String {
        if let mishap = mishaps.last { return mishap.disturbance.clause }
        if steps.contains(where: { $0.act.environment == "SANDBOX" }) { return "S-19" }
        let acts = steps.filter { ![.wait, .register].contains($0.act.kind) }
        if let last = acts.last, last.act.knownBy != nil { return "S-20" }
        guard let last = acts.last ?? steps.last else { return "S-10" }
        if last.act.isOfPlans { return last.act.planClause }
        return switch last.act.kind {
        case .purchase:
            people.contains { $0.arrival == .unknown }
                ? "S-20"
                : LifeGenerator.keptProducts.contains(last.act.product ?? "") ? "S-16" : "S-10"
        case .cancel, .refund, .reverseRefund: "S-11"
        case .uncancel, .renew, .recover: "S-13"
        case .billingIssue: "S-12"
        case .changeProduct: "S-14"
        case .expire: "S-15"
        case .transfer: "S-17"
        case .tell: last.act.type == LifeModel.testType ? "S-18" : "S-08"
        case .register: "S-21"
        case .signUp: "S-26"
        case .logIn: "S-28"
        case .pause, .resume, .extend, .grant, .revoke, .temporaryGrant, .share, .unshare, .wait:
            "S-10"
        }
    }
}

extension Act {
    /// The ID of the contract clause that an operation on a Purchasely plan tests.
    fileprivate var planClause: String {
        if environment == "SANDBOX" { return "P-09" }
        return switch kind {
        case .transfer: "P-07"
        case .billingIssue, .purchase: "P-09"
        case .cancel, .uncancel, .tell: "P-05"
        case .renew, .recover, .expire, .refund, .changeProduct, .pause, .resume, .extend, .grant,
            .revoke, .reverseRefund, .temporaryGrant, .share, .unshare, .register, .signUp,
            .logIn, .wait:
            "P-08"
        }
    }
}
