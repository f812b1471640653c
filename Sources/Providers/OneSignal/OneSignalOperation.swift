/// The operations of OneSignal's REST API (OneSignal's API description; OneSignal fact sheet,
/// sections 3 to 10).
enum OneSignalOperation: Hashable, Sendable {
    case createNotification, listNotifications, viewNotification, cancelNotification
    case notificationHistory, exportEvents, unsubscribe
    case listApps, createApp, viewApp, updateApp
    case listTokens, createToken, deleteToken, updateToken, rotateToken
    case listSegments, createSegment, deleteSegment, viewSegment, updateSegment
    case listTemplates, createTemplate, deleteTemplate, viewTemplate, updateTemplate, copyTemplate
    case outcomes, recordOutcome
    case startActivity, updateActivity, registerActivityToken, removeActivityToken
    case createUser, user, subscription, subscriptionByToken, handleLegacyTags
    case customEvents, listJourneys, inAppMessages
    case exportSubscriptions, downloadCSVFile
    case players, recordPlayerSession, recordPlayerPurchase

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

    var requiredAccess: RequiredAccess {
        switch self {
        case .listApps, .createApp, .viewApp, .updateApp, .listTokens, .createToken, .deleteToken,
            .updateToken, .rotateToken, .copyTemplate:
            .organization
        case .players, .recordPlayerSession, .recordPlayerPurchase: .players
        case .createUser, .user, .subscription, .subscriptionByToken, .inAppMessages,
            .recordOutcome, .registerActivityToken, .removeActivityToken:
            .users
        case .downloadCSVFile: .unauthenticated
        case .createNotification, .listNotifications, .viewNotification, .cancelNotification,
            .notificationHistory, .exportEvents, .unsubscribe, .listSegments, .createSegment,
            .deleteSegment, .viewSegment, .updateSegment, .listTemplates, .createTemplate,
            .deleteTemplate, .viewTemplate, .updateTemplate, .outcomes, .startActivity,
            .updateActivity, .handleLegacyTags, .customEvents, .listJourneys, .exportSubscriptions:
            .app
        }
    }

    /// The table of all operations in OneSignal's REST API.
    ///
    /// An operation without a handler belongs to the dashboard. The fake refuses such an operation
    /// with the error for a key without the permission.
    static let table = OperationTable<OneSignalOperation>(
        "REST",
        hasDescription: true,
        describedRows + undescribed
    )

    private static let describedRows: [OperationTable<OneSignalOperation>.Row] = [
        .init("POST", "/notifications", .createNotification),
        .init("GET", "/notifications", .listNotifications),
        .init("DELETE", "/notifications/{notification_id}", .cancelNotification),
        .init("GET", "/notifications/{notification_id}", .viewNotification),
        .init("POST", "/notifications/{notification_id}/history", .notificationHistory),
        .init("POST", "/notifications/{notification_id}/export_events", .exportEvents),
        .init("GET", "/apps", .listApps), .init("POST", "/apps", .createApp),
        .init("GET", "/apps/{app_id}", .viewApp), .init("PUT", "/apps/{app_id}", .updateApp),
        .init("GET", "/apps/{app_id}/segments", .listSegments),
        .init("POST", "/apps/{app_id}/segments", .createSegment),
        .init("DELETE", "/apps/{app_id}/segments/{segment_id}", .deleteSegment),
        .init("GET", "/apps/{app_id}/segments/{segment_id}", .viewSegment),
        .init("PATCH", "/apps/{app_id}/segments/{segment_id}", .updateSegment),
        .init("GET", "/apps/{app_id}/outcomes", .outcomes),
        .init("POST", "/apps/{app_id}/activities/activity/{activity_type}", .startActivity),
        .init(
            "POST",
            "/apps/{app_id}/live_activities/{activity_id}/notifications",
            .updateActivity
        ), .init("POST", "/apps/{app_id}/users", .createUser),
        .init("DELETE", "/apps/{app_id}/users/by/{alias_label}/{alias_id}", .user),
        .init("GET", "/apps/{app_id}/users/by/{alias_label}/{alias_id}", .user),
        .init("PATCH", "/apps/{app_id}/users/by/{alias_label}/{alias_id}", .user),
        .init("GET", "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity", .user),
        .init("PATCH", "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity", .user),
        .init(
            "DELETE",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity/{alias_label_to_delete}",
            .user
        ),
        .init("POST", "/apps/{app_id}/users/by/{alias_label}/{alias_id}/subscriptions", .user),
        .init("DELETE", "/apps/{app_id}/subscriptions/{subscription_id}", .subscription),
        .init("PATCH", "/apps/{app_id}/subscriptions/{subscription_id}", .subscription),
        .init("GET", "/apps/{app_id}/subscriptions/{subscription_id}/user/identity", .subscription),
        .init(
            "PATCH",
            "/apps/{app_id}/subscriptions/{subscription_id}/user/identity",
            .subscription
        ), .init("PATCH", "/apps/{app_id}/subscriptions/{subscription_id}/owner", .subscription),
        .init(
            "PATCH",
            "/apps/{app_id}/subscriptions_by_token/{token_type}/{token}",
            .subscriptionByToken
        ),
        .init(
            "POST",
            "/apps/{app_id}/notifications/{notification_id}/unsubscribe",
            .unsubscribe
        ), .init("POST", "/players/csv_export?app_id={app_id}", .exportSubscriptions),
        .init("GET", "/templates", .listTemplates), .init("POST", "/templates", .createTemplate),
        .init("DELETE", "/templates/{template_id}", .deleteTemplate),
        .init("GET", "/templates/{template_id}", .viewTemplate),
        .init("PATCH", "/templates/{template_id}", .updateTemplate),
        .init("POST", "/templates/{template_id}/copy_to_app", .copyTemplate),
        .init("GET", "/apps/{app_id}/auth/tokens", .listTokens),
        .init(
            "POST",
            "/apps/{app_id}/auth/tokens",
            .createToken,
            deviation: "ip_allowlist is stored and returned, but not enforced"
        ),
        .init("DELETE", "/apps/{app_id}/auth/tokens/{token_id}", .deleteToken),
        .init("PATCH", "/apps/{app_id}/auth/tokens/{token_id}", .updateToken),
        .init("POST", "/apps/{app_id}/auth/tokens/{token_id}/rotate", .rotateToken),
        .init("POST", "/apps/{app_id}/custom_events", .customEvents),
        .init(
            "GET",
            "/apps/{app_id}/journeys",
            .listJourneys,
            deviation: "the list is always empty, because the fake runs no journeys"
        ), .init("POST", "/apps/{app_id}/journeys"),
        .init("DELETE", "/apps/{app_id}/journeys/{journey_id}"),
        .init("GET", "/apps/{app_id}/journeys/{journey_id}"),
        .init("PATCH", "/apps/{app_id}/journeys/{journey_id}"),
        .init("GET", "/apps/{app_id}/journeys/{journey_id}/stats"),
        .init("PATCH", "/apps/{app_id}/journeys/{journey_id}/nodes/{node_id}"),
        .init("GET", "/organizations/{organization_id}/audit_logs"),
    ]

    /// The operations that older documentation lists or that OneSignal's own SDKs use on phones
    /// (OneSignal fact sheet, section 10).
    private static let undescribed: [OperationTable<OneSignalOperation>.Row] = [
        .undescribed("POST", "/players", .players), .undescribed("GET", "/players", .players),
        .undescribed("GET", "/players/{player_id}", .players),
        .undescribed("PUT", "/players/{player_id}", .players),
        .undescribed("DELETE", "/players/{player_id}", .players),
        .undescribed("POST", "/players/{player_id}/on_session", .recordPlayerSession),
        .undescribed("POST", "/players/{player_id}/on_purchase", .recordPlayerPurchase),
        .undescribed("PUT", "/apps/{app_id}/users/{external_user_id}", .handleLegacyTags),
        .undescribed("PATCH", "/apps/{app_id}/users/{external_user_id}", .handleLegacyTags),
        .undescribed("GET", "/apps/{app_id}/subscriptions/{subscription_id}/iams", .inAppMessages),
        .undescribed("POST", "/outcomes/measure", .recordOutcome),
        .undescribed(
            "POST",
            "/apps/{app_id}/live_activities/{activity_id}/token",
            .registerActivityToken
        ),
        .undescribed(
            "DELETE",
            "/apps/{app_id}/live_activities/{activity_id}/token/{subscription_id}",
            .removeActivityToken
        ), .undescribed("GET", "/csv_exports/{app_id}/{file}", .downloadCSVFile),
    ]
}
