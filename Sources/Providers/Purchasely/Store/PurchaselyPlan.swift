internal import Values

/// Facts about a plan that the fake guesses from words in the plan's name.
enum PurchaselyPlan {
    static func periodLength(of plan: String) -> Duration {
        let name = plan.lowercased()
        if name.contains("year") || name.contains("annual") { return .days(365) }
        return .seconds((name.contains("week") ? 7 : 30) * 86_400)
    }

    /// Returns the ID of the plan's product in the store.
    static func storeProduct(of plan: String) -> String {
        "com.example." + plan.lowercased().split(separator: "_").joined(separator: ".")
    }
}
