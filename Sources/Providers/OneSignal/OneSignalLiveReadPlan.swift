internal import Values

extension OneSignalState {
    package static var liveReadPlan: LiveReadPlan? {
        let appQuery = "?app_id={app_id}"
        return LiveReadPlan(
            scheme: "Key",
            suppliedParameters: ["app_id", "alias_label", "alias_id"],
            fakeParameterValues: [
                "app_id": defaultAppID, "alias_label": "external_id", "alias_id": "ada",
            ],
            parameterSources: [
                .init("notification_id", "/notifications" + appQuery, "/notifications/0/id"),
                .init("segment_id", "/apps/{app_id}/segments", "/segments/0/id"),
                .init("template_id", "/templates" + appQuery, "/templates/0/id"),
                .init(
                    "subscription_id",
                    "/apps/{app_id}/users/by/{alias_label}/{alias_id}",
                    "/subscriptions/0/id"
                ),
            ],
            queryByPath: [
                "/notifications": appQuery, "/notifications/{notification_id}": appQuery,
                "/templates": appQuery,
                "/templates/{template_id}": appQuery,
                "/apps/{app_id}/segments/{segment_id}": "?include-segment-detail=true",
                "/apps/{app_id}/outcomes": "?outcome_names=os__click.count",
            ],
            userNamedMembers: [
                "tags", "identity", "contents", "headings", "subtitle", "data",
                "include_aliases", "platform_delivery_stats", "custom_data",
            ],
            // OneSignal documents that these members are absent without a value (OneSignal fact
            // sheet, section 7).
            membersOmittedWhenUnset: [
                "tags", "language", "timezone_id", "country", "ip", "lat", "long", "amount_spent",
                "purchases",
            ],
            addSampleData: { services, now in
                func sendRequest(_ method: String, _ target: String, _ body: JSONValue) {
                    _ = services.respond(
                        .oneSignal,
                        to: HTTPMessage.Request(method, target, body: body.bytes),
                        at: now
                    )
                }
                let id = JSONValue.string(defaultAppID)
                sendRequest(
                    "POST",
                    "/apps/\(defaultAppID)/users",
                    [
                        "identity": ["external_id": "ada"],
                        "properties": ["tags": ["tea": "green"], "language": "en"],
                        "subscriptions": [["type": "iOSPush", "token": "t"]],
                    ]
                )
                sendRequest(
                    "POST",
                    "/notifications",
                    [
                        "app_id": id, "contents": ["en": "Hi"], "target_channel": "push",
                        "include_aliases": ["external_id": ["ada"]],
                    ]
                )
                sendRequest(
                    "POST",
                    "/templates",
                    ["app_id": id, "name": "Hello", "contents": ["en": "Hi"]]
                )
            }
        )
    }
}
