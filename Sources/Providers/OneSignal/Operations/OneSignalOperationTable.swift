extension OneSignalOperation {
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
        _ handler: Handler
    ) -> Row {
        let operation = OneSignalOperation(
            requiredAccess: requiredAccess,
            confidence: confidence,
            accessError: accessError,
            handler: handler
        )
        return Row(method, path, operation, deviation: deviation)
    }

    private static func undescribedRow(
        _ method: String,
        _ path: String,
        for requiredAccess: RequiredAccess,
        confidence: Reply.Confidence = .documented,
        _ handler: Handler
    ) -> Row {
        let operation = OneSignalOperation(
            requiredAccess: requiredAccess,
            confidence: confidence,
            accessError: nil,
            handler: handler
        )
        return .undescribed(method, path, operation)
    }

    private static let notificationRows: [Row] = [
        row(
            "POST",
            "/notifications",
            for: .app,
            .changeWithEffects(OneSignalNotificationOperations.create)
        ),
        row("GET", "/notifications", for: .app, .read(OneSignalNotificationOperations.list)),
        row(
            "DELETE",
            "/notifications/{notification_id}",
            for: .app,
            .changeWithEffects(OneSignalNotificationOperations.cancel)
        ),
        row(
            "GET",
            "/notifications/{notification_id}",
            for: .app,
            .read(OneSignalNotificationOperations.view)
        ),
        row(
            "POST",
            "/notifications/{notification_id}/history",
            for: .app,
            confidence: .inferred,
            .read(OneSignalExportOperations.exportHistory)
        ),
        row(
            "POST",
            "/notifications/{notification_id}/export_events",
            for: .app,
            confidence: .inferred,
            .read(OneSignalExportOperations.exportEvents)
        ),
    ]

    private static let appRows: [Row] = [
        row("GET", "/apps", for: .organization, .read(OneSignalAppOperations.list)),
        row("POST", "/apps", for: .organization, .change(OneSignalAppOperations.create)),
        row("GET", "/apps/{app_id}", for: .organization, .read(OneSignalAppOperations.view)),
        row("PUT", "/apps/{app_id}", for: .organization, .change(OneSignalAppOperations.update)),
        row("GET", "/apps/{app_id}/segments", for: .app, .read(OneSignalSegmentOperations.list)),
        row(
            "POST",
            "/apps/{app_id}/segments",
            for: .app,
            .change(OneSignalSegmentOperations.create)
        ),
        row(
            "DELETE",
            "/apps/{app_id}/segments/{segment_id}",
            for: .app,
            .change(OneSignalSegmentOperations.delete)
        ),
        row(
            "GET",
            "/apps/{app_id}/segments/{segment_id}",
            for: .app,
            .read(OneSignalSegmentOperations.view)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/segments/{segment_id}",
            for: .app,
            .change(OneSignalSegmentOperations.update)
        ),
        row(
            "GET",
            "/apps/{app_id}/outcomes",
            for: .app,
            confidence: .inferred,
            .read(OneSignalOutcomeOperations.list)
        ),
        row(
            "POST",
            "/apps/{app_id}/activities/activity/{activity_type}",
            for: .app,
            confidence: .inferred,
            .changeWithEffects(OneSignalActivityOperations.start)
        ),
        row(
            "POST",
            "/apps/{app_id}/live_activities/{activity_id}/notifications",
            for: .app,
            confidence: .inferred,
            .changeWithEffects(OneSignalActivityOperations.update)
        ),
    ]

    private static let userRows: [Row] = [
        row(
            "POST",
            "/apps/{app_id}/users",
            for: .users,
            .changeWithEffects(OneSignalUserOperations.create)
        ),
        row(
            "DELETE",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}",
            for: .users,
            .changeWithEffects(OneSignalUserOperations.delete)
        ),
        row(
            "GET",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}",
            for: .users,
            .change(OneSignalUserOperations.view)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}",
            for: .users,
            .changeWithEffects(OneSignalUserOperations.update)
        ),
        row(
            "GET",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity",
            for: .users,
            .change(OneSignalUserOperations.viewIdentity)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity",
            for: .users,
            .changeWithEffects(OneSignalUserOperations.updateIdentity)
        ),
        row(
            "DELETE",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity/{alias_label_to_delete}",
            for: .users,
            .changeWithEffects(OneSignalUserOperations.deleteAlias)
        ),
        row(
            "POST",
            "/apps/{app_id}/users/by/{alias_label}/{alias_id}/subscriptions",
            for: .users,
            .changeWithEffects(OneSignalSubscriptionOperations.create)
        ),
    ]

    private static let subscriptionRows: [Row] = [
        row(
            "DELETE",
            "/apps/{app_id}/subscriptions/{subscription_id}",
            for: .users,
            .changeWithEffects(OneSignalSubscriptionOperations.delete)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions/{subscription_id}",
            for: .users,
            .changeWithEffects(OneSignalSubscriptionOperations.update)
        ),
        row(
            "GET",
            "/apps/{app_id}/subscriptions/{subscription_id}/user/identity",
            for: .users,
            .read(OneSignalSubscriptionOperations.viewIdentity)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions/{subscription_id}/user/identity",
            for: .users,
            .changeWithEffects(OneSignalSubscriptionOperations.updateIdentity)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions/{subscription_id}/owner",
            for: .users,
            .changeWithEffects(OneSignalSubscriptionOperations.transfer)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/subscriptions_by_token/{token_type}/{token}",
            for: .users,
            .changeWithEffects(OneSignalSubscriptionOperations.updateByToken)
        ),
        row(
            "POST",
            "/apps/{app_id}/notifications/{notification_id}/unsubscribe",
            for: .app,
            confidence: .inferred,
            .changeWithEffects(OneSignalSubscriptionOperations.unsubscribe)
        ),
        row(
            "POST",
            "/players/csv_export?app_id={app_id}",
            for: .app,
            confidence: .inferred,
            .change(OneSignalExportOperations.exportSubscriptions)
        ),
    ]

    private static let templateRows: [Row] = [
        row("GET", "/templates", for: .app, .read(OneSignalTemplateOperations.list)),
        row("POST", "/templates", for: .app, .change(OneSignalTemplateOperations.create)),
        row(
            "DELETE",
            "/templates/{template_id}",
            for: .app,
            .change(OneSignalTemplateOperations.delete)
        ),
        row("GET", "/templates/{template_id}", for: .app, .read(OneSignalTemplateOperations.view)),
        row(
            "PATCH",
            "/templates/{template_id}",
            for: .app,
            .change(OneSignalTemplateOperations.update)
        ),
        row(
            "POST",
            "/templates/{template_id}/copy_to_app",
            for: .organization,
            .change(OneSignalTemplateOperations.copyToApp)
        ),
    ]

    private static let tokenRows: [Row] = [
        row(
            "GET",
            "/apps/{app_id}/auth/tokens",
            for: .organization,
            .read(OneSignalTokenOperations.list)
        ),
        row(
            "POST",
            "/apps/{app_id}/auth/tokens",
            for: .organization,
            deviation: "ip_allowlist is stored and returned, but not enforced",
            .change(OneSignalTokenOperations.create)
        ),
        row(
            "DELETE",
            "/apps/{app_id}/auth/tokens/{token_id}",
            for: .organization,
            .change(OneSignalTokenOperations.delete)
        ),
        row(
            "PATCH",
            "/apps/{app_id}/auth/tokens/{token_id}",
            for: .organization,
            .change(OneSignalTokenOperations.update)
        ),
        row(
            "POST",
            "/apps/{app_id}/auth/tokens/{token_id}/rotate",
            for: .organization,
            .change(OneSignalTokenOperations.rotate)
        ),
    ]

    private static let eventRows: [Row] = [
        // This is the only operation with status 401 (OneSignal's API description).
        row(
            "POST",
            "/apps/{app_id}/custom_events",
            for: .app,
            confidence: .inferred,
            accessError: .missingAPIKey,
            .changeWithEffects(OneSignalEventOperations.record)
        ),
        row(
            "GET",
            "/apps/{app_id}/journeys",
            for: .app,
            confidence: .inferred,
            deviation: "the list is always empty, because the fake runs no journeys",
            .read(OneSignalEventOperations.listJourneys)
        ),
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
            for: .players,
            .changeWithEffects(OneSignalPlayerOperations.add)
        ),
        undescribedRow("GET", "/players", for: .players, .read(OneSignalPlayerOperations.list)),
        undescribedRow(
            "GET",
            "/players/{player_id}",
            for: .players,
            .read(OneSignalPlayerOperations.view)
        ),
        undescribedRow(
            "PUT",
            "/players/{player_id}",
            for: .players,
            .changeWithEffects(OneSignalPlayerOperations.edit)
        ),
        undescribedRow(
            "DELETE",
            "/players/{player_id}",
            for: .players,
            .change(OneSignalPlayerOperations.delete)
        ),
        undescribedRow(
            "POST",
            "/players/{player_id}/on_session",
            for: .players,
            confidence: .inferred,
            .change(OneSignalPlayerOperations.recordSession)
        ),
        undescribedRow(
            "POST",
            "/players/{player_id}/on_purchase",
            for: .players,
            confidence: .inferred,
            .change(OneSignalPlayerOperations.recordPurchase)
        ),
        undescribedRow(
            "PUT",
            "/apps/{app_id}/users/{external_user_id}",
            for: .app,
            .changeWithEffects(OneSignalPlayerOperations.updateUserTags)
        ),
        undescribedRow(
            "PATCH",
            "/apps/{app_id}/users/{external_user_id}",
            for: .app,
            .changeWithEffects(OneSignalPlayerOperations.updateUserTags)
        ),
        undescribedRow(
            "GET",
            "/apps/{app_id}/subscriptions/{subscription_id}/iams",
            for: .users,
            confidence: .inferred,
            .read(OneSignalSubscriptionOperations.listInAppMessages)
        ),
        undescribedRow(
            "POST",
            "/outcomes/measure",
            for: .users,
            confidence: .inferred,
            .change(OneSignalOutcomeOperations.record)
        ),
        undescribedRow(
            "POST",
            "/apps/{app_id}/live_activities/{activity_id}/token",
            for: .users,
            confidence: .inferred,
            .read(OneSignalActivityOperations.registerToken)
        ),
        undescribedRow(
            "DELETE",
            "/apps/{app_id}/live_activities/{activity_id}/token/{subscription_id}",
            for: .users,
            confidence: .inferred,
            .read(OneSignalActivityOperations.removeToken)
        ),
        undescribedRow(
            "GET",
            "/csv_exports/{app_id}/{file}",
            for: .unauthenticated,
            confidence: .inferred,
            .read(OneSignalExportOperations.downloadFile)
        ),
    ]
}
