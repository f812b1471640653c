internal import Foundation

/// Built-in defects of the reference backend in reads from RevenueCat's REST API, and in the use of
/// their results.
extension Defect {
    static let reconciliationDefects: [Defect] = [
        Defect(
            "reconcile-ignored",
            "reconciliation does nothing",
            breaks: "S-34",
            "A-10",
            style: .sync
        ) {
            $0.reconciliation.repairPurchases = { _, _, _, _ in }
        },
        Defect(
            "unread-means-empty",
            "a customer who cannot be read is treated as having no purchases",
            breaks: "S-34",
            style: .sync
        ) {
            $0.reconciliation.handleUnreadableCustomer = { Subscriber(currentPurchases: []) }
        },
        Defect(
            "reconcile-adds-only",
            "reconciliation never removes purchases",
            breaks: "S-34",
            style: .sync
        ) {
            $0.reconciliation.removePurchase = { _, _ in }
        },
        Defect(
            "reconcile-announces",
            "reconciliation notifies every user",
            breaks: "S-34",
            style: .sync
        ) {
            let correctRule = $0.reconciliation.repairPurchases
            $0.reconciliation.repairPurchases = { store, db, subscriber, id in
                try correctRule(store, db, subscriber, id)
                let text = "Your subscription was checked."
                try Outbox.enqueue(store, db, UUID().uuidString, recipient: id, text: text)
            }
        },
        Defect(
            "reconciled-sandbox-counts",
            "reconciliation treats sandbox purchases as production",
            breaks: "S-19",
            style: .sync
        ) {
            $0.changeReconciledPurchases { currentPurchases in
                for index in currentPurchases.indices { currentPurchases[index].isSandbox = false }
            }
        },
        Defect(
            "reconciled-subscriptions-alone",
            "reconciliation ignores one-time purchases",
            breaks: "S-34",
            style: .sync
        ) {
            $0.changeReconciledPurchases { currentPurchases in
                currentPurchases.removeAll { $0.expiresAt == nil }
            }
        },
        Defect(
            "reconcile-without-base-plan",
            "reconciliation drops the base plan from Google Play product IDs",
            breaks: "S-34",
            style: .sync
        ) {
            $0.changeReconciledPurchases { currentPurchases in
                for index in currentPurchases.indices {
                    let productIDParts = currentPurchases[index].productID.split(separator: ":")
                    currentPurchases[index].productID = productIDParts.first.map(String.init) ?? ""
                }
            }
        },
    ]
}
