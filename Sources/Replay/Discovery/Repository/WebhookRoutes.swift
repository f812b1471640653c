internal import Providers

/// The routes of a backend that may receive the webhooks of a sender, the most likely one first.
struct WebhookRoutes: Sendable {
    let routes: [SourceSurvey.Route]

    init(_ routes: [SourceSurvey.Route]) {
        self.routes = routes.enumerated().filter { Self.score($0.element) > 0 }
            .sorted {
                (-Self.score($0.element), $0.offset) < (-Self.score($1.element), $1.offset)
            }
            .map(\.element)
    }

    /// Returns the most likely route of a file or of one line of it; an empty path means every
    /// file.
    func best(in path: String) -> SourceSurvey.Route? {
        routes.first {
            path.isEmpty || $0.location == path || $0.location.hasPrefix(path + ":")
        }
    }

    private static let senderNames = ProviderTable.all.senders.map { normalized("\($0.0)") }
    /// Words in the paths of routes for the webhooks of other services.
    static let otherSenders = [
        "stripe", "apple", "google", "paypal", "github", "slack", "telegram", "clerk", "twilio",
        "shopify", "paddle", "lemon", "razorpay", "whatsapp", "discord", "sendgrid", "mailgun",
        "resend", "appstore", "playstore", "paystack", "flutterwave", "superwall", "adapty",
    ]

    /// The smallest score of a route whose path, declaration or file names the sender.
    static let namedScore = 5

    /// Returns how likely it is that a route receives the webhooks; 0 if it does not.
    static func score(_ route: SourceSurvey.Route) -> Int {
        guard ["POST", ""].contains(route.method), !route.hasID else { return 0 }
        let path = normalized(route.path)
        let isNamed = senderNames.contains { path.contains($0) }
        let isHook = ["hook", "event", "postback"].contains { path.contains($0) }
        guard isNamed || !otherSenders.contains(where: path.contains) else { return 0 }
        // Documentation may describe the routes of another program.
        if route.location.contains(".md:") { return isNamed ? 2 : 0 }
        if isNamed { return isHook ? namedScore + 1 : namedScore }
        let declaration = normalized(route.declaration)
        let file = normalized(route.location)
        let isDeclarationNamed = senderNames.contains { declaration.contains($0) }
        let isFileNamed = senderNames.contains { file.contains($0) }
        if isHook { return isDeclarationNamed || isFileNamed ? namedScore : 2 }
        return isDeclarationNamed ? 4 : isFileNamed ? 1 : 0
    }

    private static func normalized(_ text: String) -> String {
        text.lowercased().filter { $0 != "-" && $0 != "_" }
    }
}
