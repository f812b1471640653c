internal import Contracts
internal import Grammar
internal import Providers
package import Values

/// Operations of the control API on the switches that change the behavior of the fakes.
extension ControlRoute {
    static func switchRoutes(_ providers: ProviderTable) -> [ControlRoute] {
        [
            ControlRoute(
                "settings",
                "GET",
                "/settings",
                "Returns the switches of all fakes.",
                handler: .response { api, call in api.switchSummaries(call.namespace) }
            ),
            ControlRoute(
                "patchSettings",
                "PATCH",
                "/settings",
                "Changes the switches in the body.",
                members: providers.switches.map {
                    ControlMember($0.name, .object, "New values of this fake's switches.")
                },
                handler: .response { (api, call) async throws(ControlRefusal) in
                    try api.changeSwitches(call)
                    return api.switchSummaries(call.namespace)
                }
            ),
        ]
    }
}

extension ControlAPI {
    fileprivate func switchSummaries(_ namespace: String) -> JSONValue {
        let settingsJSON = fakes.read(namespace) { services, _ in
            services.providerTable.switches.map {
                JSONObject.Member(key: $0.name, value: $0.settingsJSON(services))
            }
        }
        return settingsJSON.map { .object(JSONObject(members: $0)) } ?? .null
    }

    /// Changes the switches that a call names.
    ///
    /// If one of the switches is invalid, no switch is changed.
    fileprivate func changeSwitches(_ call: Call) throws(Refusal) {
        guard !call.body.members.isEmpty else {
            throw Refusal(400, "the body needs the switches of at least one provider")
        }
        let problem = fakes.edit(call.namespace) { services, _ -> Refusal? in
            var changedServices = services
            do throws(Refusal) {
                for member in call.body.members {
                    try Self.change(&changedServices, member.key, member.value)
                }
            } catch {
                return error
            }
            services = changedServices
            return nil
        }
        if let problem = problem ?? nil { throw problem }
    }

    private static func change(
        _ services: inout Services,
        _ name: String,
        _ value: JSONValue
    ) throws(Refusal) {
        let switchGroups = services.providerTable.switches
        guard let switchGroup = switchGroups.first(where: { $0.name == name }) else {
            let nearestName = Suggestion.nearest(to: name, among: switchGroups.map(\.name))
            throw Refusal(
                400,
                "'\(name)' has no switches",
                hint: (nearestName.map { "did you mean '\($0)'? " } ?? "")
                    + "providers with switches: " + switchGroups.map(\.name).joined(separator: ", ")
            )
        }
        try switchGroup.change(&services, value)
    }

    /// Changes one switch of a fake by its name, for the command line.
    ///
    /// - Returns: The error; nil when the switch was changed.
    package static func changeSwitch(
        of provider: String,
        _ name: String,
        to value: JSONValue,
        in fakes: FakeRegistry
    ) -> String? {
        let change = JSONValue.object(JSONObject(members: [.init(key: name, value: value)]))
        let problem = fakes.edit("") { services, _ -> String? in
            do throws(Refusal) {
                try Self.change(&services, provider, change)
                return nil
            } catch {
                return error.text + (error.hint.map { "; " + $0 } ?? "")
            }
        }
        return problem ?? nil
    }
}
