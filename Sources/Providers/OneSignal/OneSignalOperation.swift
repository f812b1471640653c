internal import Contracts
internal import Values

/// An operation of OneSignal's REST API (OneSignal's API description; OneSignal fact sheet,
/// sections 3 to 10).
struct OneSignalOperation: Sendable {
    /// The permission that a caller needs for an operation.
    enum RequiredAccess: Hashable, Sendable {
        /// The caller needs an API key of the app that the request addresses.
        case app
        /// The caller needs the API key of the organization.
        case organization
        /// The caller is a device, or knows a user's ID.
        ///
        /// The caller needs no API key if a switch of the fake allows calls without a key.
        case players, users
        /// The caller needs no API key, because the name of the requested file cannot be guessed.
        case unauthenticated
    }

    /// The function that executes an operation and adds the observable changes to the effects.
    typealias Handler =
        @Sendable (inout OneSignalState, OneSignalState.Call, inout [Effect]) throws(OneSignalError)
        -> HTTPMessage.Response

    let requiredAccess: RequiredAccess
    /// The confidence in the responses to calls that succeed.
    let confidence: Reply.Confidence
    /// The error for a caller without the required access; nil for the usual error.
    let accessError: OneSignalError?
    let handle: Handler

    // MARK: The table

    /// The table of all operations in OneSignal's REST API.
    ///
    /// An operation without a handler belongs to the dashboard. The fake refuses such an operation
    /// with the error for a key without the permission.
    static let table = OperationTable<OneSignalOperation>(
        "REST",
        hasDescription: true,
        [
            notificationRows, appRows, userRows, subscriptionRows, templateRows, tokenRows,
            eventRows, undescribedRows,
        ]
        .flatMap(\.self)
    )

    private typealias Row = OperationTable<OneSignalOperation>.Row

    private static func row(
        _ method: String,
        _ path: String,
        for requiredAccess: RequiredAccess,
        confidence: Reply.Confidence = .documented,
        accessError: OneSignalError? = nil,
        deviation: String? = nil,
        handle: @escaping Handler
    ) -> Row {
        let operation = OneSignalOperation(
            requiredAccess: requiredAccess,
            confidence: confidence,
            accessError: accessError,
            handle: handle
        )
        return Row(method, path, operation, deviation: deviation)
    }

    private static func undescribedRow(
        _ method: String,
        _ path: String,
        for requiredAccess: RequiredAccess,
        confidence: Reply.Confidence = .documented,
        handle: @escaping Handler
    ) -> Row {
        let operation = OneSignalOperation(
            requiredAccess: requiredAccess,
            confidence: confidence,
            accessError: nil,
            handle: handle
        )
        return .undescribed(method, path, operation)
    }

    private static let notificationRows: [Row] = [
        row("POST", "/notifications", for: .app) { state, call, effects throws(OneSignalError) in
            try state.createNotification(call, &effects)
        },
        row("GET", "/notifications", for: .app) { state, call, _ throws(OneSignalError) in
            try state.listNotifications(call)
        },
        row(
            "DELETE",
            "/notifications/{notification_id}",
            for: .app
        ) { state, call, effects throws(OneSignalError) in
            try state.cancelNotification(call, &effects)
        },
        row(
            "GET",
            "/notifications/{notification_id}",
            for: .app
        ) { state, call, _ throws(OneSignalError) in try state.viewNotification(call) },
        row(
            "POST",
            "/notifications/{notification_id}/history",
            for: .app,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.viewNotificationHistory(call) },
        row(
            "POST",
            "/notifications/{notification_id}/export_events",
            for: .app,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.exportEvents(call) },
    ]

    private static let appRows: [Row] = [
        row("GET", "/apps", for: .organization) { state, _, _ throws(OneSignalError) in
            state.listApps()
        },
        row("POST", "/apps", for: .organization) { state, call, _ throws(OneSignalError) in
            try state.createApp(call)
        },
        row("GET", "/apps/{app_id}", for: .organization) { state, call, _ throws(OneSignalError) in
            try state.viewApp(call)
        },
        row("PUT", "/apps/{app_id}", for: .organization) { state, call, _ throws(OneSignalError) in
            try state.updateApp(call)
        },
        row("GET", "/apps/{app_id}/segments", for: .app) { state, call, _ throws(OneSignalError) in
            try state.listSegments(call)
        },
        row("POST", "/apps/{app_id}/segments", for: .app) { state, call, _ throws(OneSignalError) in
            try state.createSegment(call)
        },
        row(
            "DELETE",
            "/apps/{app_id}/segments/{segment_id}",
            for: .app
        ) { state, call, _ throws(OneSignalError) in try state.deleteSegment(call) },
        row(
            "GET",
            "/apps/{app_id}/segments/{segment_id}",
            for: .app
        ) { state, call, _ throws(OneSignalError) in try state.viewSegment(call) },
        row(
            "PATCH",
            "/apps/{app_id}/segments/{segment_id}",
            for: .app
        ) { state, call, _ throws(OneSignalError) in try state.updateSegment(call) },
        row(
            "GET",
            "/apps/{app_id}/outcomes",
            for: .app,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.listOutcomes(call) },
        row(
            "POST",
            "/apps/{app_id}/activities/activity/{activity_type}",
            for: .app,
            confidence: .inferred
        ) { state, call, effects throws(OneSignalError) in try state.startActivity(call, &effects)
        },
        row(
            "POST",
            "/apps/{app_id}/live_activities/{activity_id}/notifications",
            for: .app,
            confidence: .inferred
        ) { state, call, effects throws(OneSignalError) in try state.updateActivity(call, &effects)
        },
    ]

    private static let userRows: [Row] = [
        row(
            "POST",
            "/apps/{app_id}/users",
            for: .users
        ) { state, call, effects throws(OneSignalError) in try state.createUser(call, &effects) },
        row(
            "DELETE",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}",
            for: .users
        ) { state, call, effects throws(OneSignalError) in try state.deleteUser(call, &effects) },
        row(
            "GET",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}",
            for: .users
        ) { state, call, _ throws(OneSignalError) in try state.viewUser(call) },
        row(
            "PATCH",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}",
            for: .users
        ) { state, call, effects throws(OneSignalError) in try state.updateUser(call, &effects) },
        row(
            "GET",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity",
            for: .users
        ) { state, call, _ throws(OneSignalError) in try state.viewIdentity(call) },
        row(
            "PATCH",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity",
            for: .users
        ) { state, call, effects throws(OneSignalError) in try state.updateIdentity(call, &effects)
        },
        row(
            "DELETE",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity/{alias_label_to_delete}",
            for: .users
        ) { state, call, effects throws(OneSignalError) in try state.deleteAlias(call, &effects) },
        row(
            "POST",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/subscriptions",
            for: .users
        ) { state, call, effects throws(OneSignalError) in
            try state.createSubscription(call, &effects)
        },
    ]

    private static let subscriptionRows: [Row] = [
        row(
            "DELETE",
            "/apps/{app_id}/subscriptions/{subscription_id}",
            for: .users
        ) { state, call, effects throws(OneSignalError) in
            try state.deleteSubscription(call, &effects)
        },
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions/{subscription_id}",
            for: .users
        ) { state, call, effects throws(OneSignalError) in
            try state.updateSubscription(call, &effects)
        },
        row(
            "GET",
            "/apps/{app_id}/subscriptions/{subscription_id}/user/identity",
            for: .users
        ) { state, call, _ throws(OneSignalError) in try state.viewSubscriptionIdentity(call) },
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions/{subscription_id}/user/identity",
            for: .users
        ) { state, call, effects throws(OneSignalError) in
            try state.updateSubscriptionIdentity(call, &effects)
        },
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions/{subscription_id}/owner",
            for: .users
        ) { state, call, effects throws(OneSignalError) in
            try state.transferSubscription(call, &effects)
        },
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions_by_token/{token_type}/{token}",
            for: .users
        ) { state, call, effects throws(OneSignalError) in
            try state.updateSubscriptionByToken(call, &effects)
        },
        row(
            "POST",
            "/apps/{app_id}/notifications/{notification_id}/unsubscribe",
            for: .app,
            confidence: .inferred
        ) { state, call, effects throws(OneSignalError) in try state.unsubscribe(call, &effects) },
        row(
            "POST",
            "/players/csv_export?app_id={app_id}",
            for: .app,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.exportSubscriptions(call) },
    ]

    private static let templateRows: [Row] = [
        row("GET", "/templates", for: .app) { state, call, _ throws(OneSignalError) in
            try state.listTemplates(call)
        },
        row("POST", "/templates", for: .app) { state, call, _ throws(OneSignalError) in
            try state.createTemplate(call)
        },
        row(
            "DELETE",
            "/templates/{template_id}",
            for: .app
        ) { state, call, _ throws(OneSignalError) in try state.deleteTemplate(call) },
        row("GET", "/templates/{template_id}", for: .app) { state, call, _ throws(OneSignalError) in
            try state.viewTemplate(call)
        },
        row(
            "PATCH",
            "/templates/{template_id}",
            for: .app
        ) { state, call, _ throws(OneSignalError) in try state.updateTemplate(call) },
        row(
            "POST",
            "/templates/{template_id}/copy_to_app",
            for: .organization
        ) { state, call, _ throws(OneSignalError) in try state.copyTemplate(call) },
    ]

    private static let tokenRows: [Row] = [
        row(
            "GET",
            "/apps/{app_id}/auth/tokens",
            for: .organization
        ) { state, call, _ throws(OneSignalError) in try state.listTokens(call) },
        row(
            "POST",
            "/apps/{app_id}/auth/tokens",
            for: .organization,
            deviation: "ip_allowlist is stored and returned, but not enforced"
        ) { state, call, _ throws(OneSignalError) in try state.createToken(call) },
        row(
            "DELETE",
            "/apps/{app_id}/auth/tokens/{token_id}",
            for: .organization
        ) { state, call, _ throws(OneSignalError) in try state.deleteToken(call) },
        row(
            "PATCH",
            "/apps/{app_id}/auth/tokens/{token_id}",
            for: .organization
        ) { state, call, _ throws(OneSignalError) in try state.updateToken(call) },
        row(
            "POST",
            "/apps/{app_id}/auth/tokens/{token_id}/rotate",
            for: .organization
        ) { state, call, _ throws(OneSignalError) in try state.rotateToken(call) },
    ]

    private static let eventRows: [Row] = [
        // This is the only operation with status 401 (OneSignal's API description).
        row(
            "POST",
            "/apps/{app_id}/custom_events",
            for: .app,
            confidence: .inferred,
            accessError: .missingAPIKey
        ) { state, call, effects throws(OneSignalError) in
            try state.recordCustomEvents(call, &effects)
        },
        row(
            "GET",
            "/apps/{app_id}/journeys",
            for: .app,
            confidence: .inferred,
            deviation: "the list is always empty, because the fake runs no journeys"
        ) { state, call, _ throws(OneSignalError) in try state.listJourneys(call) },
        .init("POST", "/apps/{app_id}/journeys"),
        .init("DELETE", "/apps/{app_id}/journeys/{journey_id}"),
        .init("GET", "/apps/{app_id}/journeys/{journey_id}"),
        .init("PATCH", "/apps/{app_id}/journeys/{journey_id}"),
        .init("GET", "/apps/{app_id}/journeys/{journey_id}/stats"),
        .init("PATCH", "/apps/{app_id}/journeys/{journey_id}/nodes/{node_id}"),
        .init("GET", "/organizations/{organization_id}/audit_logs"),
    ]

    /// The operations that older documentation lists or that OneSignal's own SDKs use on phones
    /// (OneSignal fact sheet, section 10).
    private static let undescribedRows: [Row] = [
        undescribedRow(
            "POST",
            "/players",
            for: .players
        ) { state, call, effects throws(OneSignalError) in try state.addPlayer(call, &effects) },
        undescribedRow("GET", "/players", for: .players) { state, call, _ throws(OneSignalError) in
            try state.listPlayers(call)
        },
        undescribedRow(
            "GET",
            "/players/{player_id}",
            for: .players
        ) { state, call, _ throws(OneSignalError) in try state.viewPlayer(call) },
        undescribedRow(
            "PUT",
            "/players/{player_id}",
            for: .players
        ) { state, call, effects throws(OneSignalError) in try state.editPlayer(call, &effects) },
        undescribedRow(
            "DELETE",
            "/players/{player_id}",
            for: .players
        ) { state, call, _ throws(OneSignalError) in try state.deletePlayer(call) },
        undescribedRow(
            "POST",
            "/players/{player_id}/on_session",
            for: .players,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.recordPlayerSession(call) },
        undescribedRow(
            "POST",
            "/players/{player_id}/on_purchase",
            for: .players,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.recordPlayerPurchase(call) },
        undescribedRow(
            "PUT",
            "/apps/{app_id}/users/{external_user_id}",
            for: .app
        ) { state, call, effects throws(OneSignalError) in
            try state.handleLegacyTags(call, &effects)
        },
        undescribedRow(
            "PATCH",
            "/apps/{app_id}/users/{external_user_id}",
            for: .app
        ) { state, call, effects throws(OneSignalError) in
            try state.handleLegacyTags(call, &effects)
        },
        undescribedRow(
            "GET",
            "/apps/{app_id}/subscriptions/{subscription_id}/iams",
            for: .users,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.listInAppMessages(call) },
        undescribedRow(
            "POST",
            "/outcomes/measure",
            for: .users,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.recordOutcome(call) },
        undescribedRow(
            "POST",
            "/apps/{app_id}/live_activities/{activity_id}/token",
            for: .users,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.registerActivityToken(call) },
        undescribedRow(
            "DELETE",
            "/apps/{app_id}/live_activities/{activity_id}/token/{subscription_id}",
            for: .users,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.removeActivityToken(call) },
        undescribedRow(
            "GET",
            "/csv_exports/{app_id}/{file}",
            for: .unauthenticated,
            confidence: .inferred
        ) { state, call, _ throws(OneSignalError) in try state.downloadCSVFile(call) },
    ]
}
