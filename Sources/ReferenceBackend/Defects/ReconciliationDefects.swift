internal import Foundation

/// What is asked for over REST, and what becomes of the answer.
extension Defect {
    static let reconciling: [Defect] = [
        Defect(
            "reconcile-ignored",
            "reconciliation does nothing",
            breaks: "S-34",
            "A-10",
            style: .sync
        ) {
            $0.reconciliation.repair = { _, _, _, _ in }
        },
        Defect(
            "unread-means-empty",
            "a customer who cannot be read is taken for one without purchases",
            breaks: "S-34",
            style: .sync
        ) {
            $0.reconciliation.unread = { Subscriber(items: []) }
        },
        Defect(
            "reconcile-adds-only",
            "reconciliation never removes",
            breaks: "S-34",
            style: .sync
        ) {
            $0.reconciliation.remove = { _, _ in }
        },
        Defect(
            "reconcile-announces",
            "reconciliation tells everybody",
            breaks: "S-34",
            style: .sync
        ) {
            let correct = $0.reconciliation.repair
            $0.reconciliation.repair = { store, db, subscriber, id in
                try correct(store, db, subscriber, id)
                let text = "Your subscription was checked."
                try Outbox.enqueue(store, db, UUID().uuidString, recipient: id, text: text)
            }
        },
        Defect(
            "reconciled-sandbox-counts",
            "reconciliation takes sandbox purchases for real ones",
            breaks: "S-19",
            style: .sync
        ) {
            $0.repairs { items in
                for index in items.indices { items[index].isSandbox = false }
            }
        },
        Defect(
            "reconciled-subscriptions-alone",
            "reconciliation knows no one-time purchases",
            breaks: "S-34",
            style: .sync
        ) {
            $0.repairs { items in items.removeAll { $0.expiresAt == nil } }
        },
        Defect(
            "reconcile-without-base-plan",
            "reconciliation knows Google's subscriptions without their base plan",
            breaks: "S-34",
            style: .sync
        ) {
            $0.repairs { items in
                for index in items.indices {
                    let parts = items[index].productID.split(separator: ":")
                    items[index].productID = parts.first.map(String.init) ?? ""
                }
            }
        },
    ]
}
