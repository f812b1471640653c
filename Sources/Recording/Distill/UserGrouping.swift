internal import Providers
internal import Values

/// The division of a recorded session into groups of related users.
struct UserGrouping {
    /// The indices of the exchanges of a group of related users: requests to the backend, and calls
    /// that the backend made because of these requests.
    struct Group: Sendable {
        /// The key of the group; empty when its requests name no user.
        let key: String
        var requestIndices: [Int]
        var calls: [Int] = []
    }

    private(set) var groups: [Group] = []
    /// Notes about the requests that were left out.
    private(set) var notes: [String] = []
    private var groupIndexByKey: [String: Int] = [:]

    init(_ exchanges: [Exchange], _ users: SessionUsers, _ refusals: WebhookRefusals) {
        addRequests(exchanges, users, refusals)
        addCalls(exchanges, users)
    }

    private mutating func addRequests(
        _ exchanges: [Exchange],
        _ users: SessionUsers,
        _ refusals: WebhookRefusals
    ) {
        var unattributedCallIndices: [Int] = []
        for (exchangeIndex, exchange) in exchanges.enumerated() {
            let isWebhook = Services.provider(exchange.from)?.sender != nil
            guard exchange.to == .backend, exchange.from == .app || isWebhook else { continue }
            if let note = Self.omissionReason(exchange, refusals) {
                notes.append(note)
                continue
            }
            guard let key = users.group(of: exchange) else {
                unattributedCallIndices.append(exchangeIndex)
                continue
            }
            if let groupIndex = groupIndexByKey[key] {
                groups[groupIndex].requestIndices.append(exchangeIndex)
            } else {
                groupIndexByKey[key] = groups.count
                groups.append(Group(key: key, requestIndices: [exchangeIndex]))
            }
        }
        if groups.count == 1 {
            groups[0].requestIndices = (groups[0].requestIndices + unattributedCallIndices).sorted()
        } else if !unattributedCallIndices.isEmpty {
            groups.append(Group(key: "", requestIndices: unattributedCallIndices))
        }
    }

    /// Adds the calls that the backend made.
    private mutating func addCalls(_ exchanges: [Exchange], _ users: SessionUsers) {
        let hasSingleGroup = groups.count == 1
        for (exchangeIndex, exchange) in exchanges.enumerated() where exchange.from == .backend {
            let key = hasSingleGroup ? groups[0].key : users.group(of: exchange) ?? ""
            // The last group may have an empty key, because its requests name no user.
            let groupIndex =
                hasSingleGroup ? 0 : groupIndexByKey[key] ?? (key.isEmpty ? groups.count - 1 : nil)
            guard let groupIndex, groups.indices.contains(groupIndex), groups[groupIndex].key == key
            else { continue }
            groups[groupIndex].calls.append(exchangeIndex)
        }
    }

    /// Returns the reason why a golden contract cannot send a recorded request again; nil when it
    /// can.
    private static func omissionReason(_ exchange: Exchange, _ refusals: WebhookRefusals) -> String?
    {
        let request = "\(exchange.request.method) \(exchange.request.path)"
        guard let response = exchange.response else {
            return "\(request) had no response and is left out"
        }
        if response.status == 101 {
            return "\(request) became a WebSocket and is left out; the recording contains its "
                + "messages"
        }
        guard exchange.from == .app || refusals.interpretation(of: exchange) != .unknown else {
            return "\(request) was refused (401) and is left out: its credentials match 'secrets' "
                + "in the profile, or the profile has no secrets to compare them with"
        }
        return nil
    }
}
