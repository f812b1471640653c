package import Contracts
internal import Grammar
package import Values

/// A model of a correct app backend: registration, login and access checks.
///
/// A contract can plan other responses.
///
/// Source: identity rules, A5 to A9. The requests and responses have the form that the endpoints of
/// the profile describe.
package struct AppBackend: Hashable, Sendable {
    /// The result of a call to the app's backend: a response, a reset connection, or no response at
    /// all.
    package enum CallResult: Hashable, Sendable {
        case answered(HTTPMessage.Response, after: Duration)
        case reset
        case never
    }

    package var plan = AppBackendPlan()
    /// The user ID that belongs to each account, by the name of the account.
    private var idByAccount: [String: String] = [:]
    private var productByID: [String: String] = [:]
    private let profile: Profile

    package init(profile: Profile) {
        self.profile = profile
    }

    package mutating func take(_ plan: AppBackendPlan) { self.plan.add(plan) }

    /// Returns whether the contract plans the response to the next call of a route.
    package func hasPlannedResponse(for route: String) -> Bool {
        plan.responses[route]?.isEmpty == false && plan.responses[route]?.first != .ok
    }

    /// Records that a RevenueCat webhook reported a purchase, unless the plan hides purchases from
    /// the backend.
    package mutating func recordPurchase(_ product: String, by id: String) {
        if plan.isNotifiedOfPurchases { productByID[id] = product }
    }

    // MARK: Routes

    /// Returns the name of the route that matches a request of the app's page; nil when the profile
    /// has no such route.
    package func route(_ method: String, _ target: String) -> String? {
        AppBackendPlan.routes.first { route in
            profile.appEndpoint(route).map {
                $0.method == method && Self.id(in: target, $0.path) != nil
            }
                ?? false
        }
    }

    /// Returns the part of a request target that matches `{{id}}` in a template.
    ///
    /// The result is empty for a template without `{{id}}`, and nil when the target does not match
    /// the template.
    private static func id(in target: String, _ template: String) -> String? {
        func splitTarget(_ text: String) -> (path: [Substring], query: [Substring]) {
            let pathAndQuery = text.split(separator: "?", maxSplits: 1)
            return (
                (pathAndQuery.first ?? "").split(separator: "/"),
                pathAndQuery.count == 2 ? pathAndQuery[1].split(separator: "&") : []
            )
        }
        let (templateParts, actualParts) = (splitTarget(template), splitTarget(target))
        guard templateParts.path.count == actualParts.path.count else { return nil }
        var id = ""
        for (part, actualPart) in zip(templateParts.path, actualParts.path) where part != actualPart
        {
            guard let text = Template(String(part)).value(of: "id", in: actualPart) else {
                return nil
            }
            id = FormText.decoded(text, decodesPlusAsSpace: false)
        }
        for part in templateParts.query {
            let template = Template(String(part))
            guard template.names.contains("id") else { continue }
            guard
                let text = actualParts.query.compactMap({ template.value(of: "id", in: $0) }).first
            else { return nil }
            id = FormText.decoded(text, decodesPlusAsSpace: false)
        }
        return id
    }

    // MARK: Responses

    /// Responds to one call of the app.
    ///
    /// - Parameters:
    ///   - route: One of `AppBackendPlan.routes`.
    ///   - request: The app's request.
    ///   - ids: A function that returns the user ID for a user name in the contract.
    /// - Returns: The response and its delay, or the way in which the call fails.
    package mutating func respond(
        _ route: String,
        to request: HTTPMessage.Request,
        ids: (String) -> String
    ) -> CallResult {
        let plannedResponse = plan.takeNext(route) ?? .ok
        switch plannedResponse {
        case .reset: return .reset
        case .never: return .never
        case .status(let status):
            return .answered(
                HTTPMessage.Response(status, json: ["error": "planned"]),
                after: .zero
            )
        case .slow(let time):
            return .answered(defaultResponse(route, request, plannedResponse, ids), after: time)
        case .ok, .otherID, .noID, .nullID, .undefinedID, .claimed, .recovered:
            return .answered(defaultResponse(route, request, plannedResponse, ids), after: .zero)
        }
    }

    private mutating func defaultResponse(
        _ route: String,
        _ request: HTTPMessage.Request,
        _ plannedResponse: AppBackendPlan.PlannedResponse,
        _ ids: (String) -> String
    ) -> HTTPMessage.Response {
        let body = request.bodyJSON ?? .null
        let pointersByTemplateName = profile.pointersByTemplateName(in: route)
        func text(_ name: String) -> String {
            pointersByTemplateName[name].flatMap { body[$0] }?.string ?? ""
        }
        switch route {
        case "register":
            let missingFields = ["id", "device"].filter { text($0).isEmpty }
            guard missingFields.isEmpty else {
                return rejectedRegistration(body, missingFields, pointersByTemplateName)
            }
            let id = plannedResponse == .otherID ? "another-" + text("id") : text("id")
            return HTTPMessage.Response(
                200,
                json: responseBody(
                    withIDAt: profile.endpoints["register"]?.responseIDPointer
                        ?? pointersByTemplateName["id"],
                    plannedResponse.unusableID ?? .string(id)
                )
            )
        case "login":
            return loginResponse(account: text("account"), id: text("id"), plannedResponse, ids)
        default:
            let access = profile.app.access
            let id = Self.id(in: request.target, access?.path ?? "") ?? ""
            let product = productByID[id]
            var values = NamedValues([
                "access": .bool(product != nil),
                "product": product.map(JSONValue.string) ?? .null,
            ])
            return HTTPMessage.Response(200, json: values.fill(access?.body ?? .null))
        }
    }

    /// Returns the response to a registration that lacks fields.
    private func rejectedRegistration(
        _ body: JSONValue,
        _ missingFields: [String],
        _ pointersByTemplateName: [String: JSONPointer]
    ) -> HTTPMessage.Response {
        let fields = missingFields.map { name in
            pointersByTemplateName[name].map { "\($0) (the \(name))" } ?? "the \(name)"
        }
        let members = body.object.map { $0.members.map(\.key).joined(separator: ", ") }
        let problem =
            "the body lacks \(fields.joined(separator: " and ")); "
            + (members.map { $0.isEmpty ? "the body is empty" : "the body has \($0)" }
                ?? "the body is not a JSON object")
        return HTTPMessage.Response(
            400,
            json: ["error": "invalid_registration", "why": .string(problem)]
        )
    }

    /// Returns the response to a login, with the user ID that belongs to the account from now on.
    private mutating func loginResponse(
        account: String,
        id currentID: String,
        _ plannedResponse: AppBackendPlan.PlannedResponse,
        _ ids: (String) -> String
    ) -> HTTPMessage.Response {
        var id = idByAccount[account] ?? currentID
        var action = idByAccount[account] == nil ? "claimed" : "recovered"
        if case .recovered(let user) = plannedResponse {
            id = ids(user)
            action = "recovered"
        }
        if plannedResponse == .claimed {
            id = currentID
            action = "claimed"
        }
        idByAccount[account] = id
        var body = responseBody(
            withIDAt: profile.endpoints["login"]?.responseIDPointer,
            plannedResponse.unusableID ?? .string(id)
        )
        body.set(JSONPointer(tokens: ["action"]), to: .string(action))
        return HTTPMessage.Response(200, json: body)
    }

    private func responseBody(withIDAt idPointer: JSONPointer?, _ id: JSONValue?) -> JSONValue {
        var body = JSONValue.object(["ok": true])
        if let id { body.set(idPointer ?? JSONPointer(tokens: ["appUserId"]), to: id) }
        return body
    }
}

extension AppBackendPlan.PlannedResponse {
    /// The value that replaces the user ID in a response: nil for a usable ID, `.some(nil)` to
    /// leave the member out.
    fileprivate var unusableID: JSONValue?? {
        switch self {
        case .noID: .some(nil)
        case .nullID: .some(.some(.null))
        case .undefinedID: .some(.some("undefined"))
        case .ok, .status, .reset, .never, .slow, .otherID, .claimed, .recovered: nil
        }
    }
}
