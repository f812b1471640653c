internal import Grammar
internal import Providers
internal import Values

/// A restart of the backend: a signal stops it, and it is started again on the same data.
package struct Restart: Hashable, Codable, Sendable {
    package enum Signal: String, Hashable, Codable, Sendable, CaseIterable {
        case kill = "KILL"
        case terminate = "TERM"
    }

    package var signal: Signal
    /// The time zone of the restarted backend, set by the environment variable `TZ`; nil:
    /// unchanged.
    package var timeZone: String?
    /// The change of the backend's secrets at this start; nil: the backend gets the secrets of the
    /// profile.
    package var secretChange: SecretChange?

    package init(signal: Signal, timeZone: String? = nil, secretChange: SecretChange? = nil) {
        self.signal = signal
        self.timeZone = timeZone
        self.secretChange = secretChange
    }
}

/// A change of the secrets that a backend gets when Assay starts it.
///
/// A deployment without a secret, or with another one, is a configuration error. The backend must
/// then refuse every event, or refuse to start (clause S-01).
package struct SecretChange: Hashable, Codable, Sendable {
    /// The values that the backend gets in place of the profile's secrets.
    package enum Value: String, Hashable, Codable, Sendable, CaseIterable {
        /// The environment variables do not exist.
        case missing
        case empty
        /// A different value of the same length and form.
        case wrong
    }

    /// The names of the secrets, as in the profile's `secrets`.
    package var secretNames: [String]
    package var value: Value

    package init(secretNames: [String], value: Value) {
        self.secretNames = secretNames
        self.value = value
    }
}

/// A stop of the backend in the middle of a webhook delivery.
package struct Crash: Hashable, Codable, Sendable {
    /// The progress of the delivery when the backend is stopped.
    package enum Phase: String, Hashable, Codable, Sendable, CaseIterable {
        /// The backend is stopped when half of the webhook request has been sent.
        case halfSent = "half-sent"
        /// The backend is stopped when the complete webhook request has been sent.
        case sent
        /// The backend is stopped after one eighth of its usual response time.
        case early
        /// The backend is stopped after half of its usual response time.
        case working
        /// The backend is stopped after seven eighths of its usual response time.
        case late
        /// The backend is stopped when its response has arrived.
        case answered

        /// The fraction of the backend's usual response time after which the backend is stopped.
        package var responseTimeFraction: Double {
            switch self {
            case .halfSent, .sent, .answered: 0
            case .early: 0.125
            case .working: 0.5
            case .late: 0.875
            }
        }
    }

    package var signal: Restart.Signal
    package var phase: Phase

    /// Whether the backend is killed before it has responded to the delivery.
    package var killsBeforeResponse: Bool { signal == .kill && phase != .answered }

    package init(signal: Restart.Signal, phase: Phase) {
        self.signal = signal
        self.phase = phase
    }
}

/// The parsed value of the key `restart`: a stop between two steps, during a delivery, or at a call
/// to a provider.
struct RestartForm: Hashable, Sendable {
    var signal = Restart.Signal.kill
    var deliveryName: String?
    var phase = Crash.Phase.sent
    var timeZone: String?
    /// The names of the secrets that the restarted backend gets with the value `secretValue`.
    var secretNames: [String] = []
    var secretValue = SecretChange.Value.missing
    /// The provider of the call at which the backend is killed; `position` is the number of that
    /// call, counted from 1.
    var party: Exchange.Party?
    var position: Int?

    static var grammar: Construct<RestartForm> { grammarOfTable.value }

    private static let grammarOfTable = TableDerived { _ in makeGrammar() }

    private static func makeGrammar() -> Construct<RestartForm> {
        Construct<RestartForm>(
            "restart",
            "a restart",
            "Stops the backend and starts it again on the same data.",
            makeEmptyOwner: { _ in RestartForm() }
        ) {
            Field.value(
                "signal",
                \.signal,
                .choice("signal"),
                default: .kill,
                "The signal that stops the backend."
            )
            Field.optional(
                "during",
                \.deliveryName,
                .earlierDeliveryName,
                "The delivery during whose first attempt the backend is stopped.",
                fallback: "between the steps"
            )
            Field.value(
                "phase",
                \.phase,
                .choice("phase"),
                default: .sent,
                "The progress of the delivery in `during` when the backend is stopped."
            )
            Field.optional(
                "time-zone",
                \.timeZone,
                .text("a time zone, such as Pacific/Auckland"),
                "The value of the environment variable `TZ` after the restart.",
                fallback: "unchanged"
            )
            secretFields
            callFields
        }
        .companionKeys("phase", ["during"])
        .companionKeys("at-call", ["to"])
        .companionKeys("to", ["at-call"])
        .companionKeys("value", ["secrets"])
        .mutuallyExclusiveKeys(["during", "time-zone"])
        .mutuallyExclusiveKeys(["during", "secrets"])
        .mutuallyExclusiveKeys(["at-call", "secrets"])
        .mutuallyExclusiveKeys(["during", "at-call"])
        .mutuallyExclusiveKeys(["time-zone", "at-call"])
        .checking { form, keys, reader in
            guard form.position != nil, form.signal != .kill, let signal = keys["signal"] else {
                return
            }
            reader.fail(
                .conflict("'at-call' requires the signal KILL", remedy: "Write 'signal: KILL'."),
                at: signal.location
            )
        }
    }

    /// The fields for a start with other secrets.
    @FieldBuilder<RestartForm> private static var secretFields: [Field<RestartForm>] {
        Field.list(
            "secrets",
            \.secretNames,
            .word("secret", among: ProviderTable.all.profileSecrets.map(\.name.rawValue)),
            "The secrets that the restarted backend gets with another value, until the next "
                + "restart. The backend may refuse to start."
        )
        Field.value(
            "value",
            \.secretValue,
            .choice("value"),
            default: .missing,
            "The value of these secrets: `missing` (no environment variable), `empty` or `wrong`."
        )
    }

    /// The fields for a kill at one of the backend's calls.
    @FieldBuilder<RestartForm> private static var callFields: [Field<RestartForm>] {
        Field.optional(
            "at-call",
            \.position,
            .count(1...1000),
            "Kills the backend at this call to a provider during the previous steps. Calls are "
                + "counted from 1."
        )
        Field.optional(
            "to",
            \.party,
            ProviderPlan.party,
            "The provider whose calls `at-call` counts."
        )
    }

    static var syntax: Syntax<RestartForm> {
        .either(
            Syntax<Restart.Signal>.choice("signal").mapped(
                to: { signal in
                    var form = RestartForm()
                    form.signal = signal
                    return form
                },
                from: \.signal
            ),
            orMapping: grammar.flow,
            takesMapping: { form in
                var signalOnlyForm = RestartForm()
                signalOnlyForm.signal = form.signal
                return form != signalOnlyForm
            }
        )
    }
}

extension StepForm {
    static var restart: StepForm {
        StepForm(
            "restart",
            RestartForm.syntax,
            "Stops the backend and starts it again on the same data: a signal, or a mapping with more "
                + "details.",
            read: { node, reader in
                guard let form = RestartForm.syntax.read(node, &reader) else { return nil }
                if let party = form.party, let position = form.position {
                    return .killAtCall(party: party, position: position)
                }
                guard let name = form.deliveryName else {
                    let secretChange =
                        form.secretNames.isEmpty
                        ? nil
                        : SecretChange(secretNames: form.secretNames, value: form.secretValue)
                    return .restart(
                        Restart(
                            signal: form.signal,
                            timeZone: form.timeZone,
                            secretChange: secretChange
                        )
                    )
                }
                if reader.crashesByDelivery[name] != nil {
                    reader.fail(
                        .conflict(
                            "two restarts interrupt the delivery '\(name)'",
                            remedy: "Keep one restart for each delivery."
                        ),
                        at: node.location
                    )
                }
                reader.crashesByDelivery[name] = Crash(signal: form.signal, phase: form.phase)
                return nil
            },
            write: { step in
                var form = RestartForm()
                if case .restart(let restart) = step {
                    form.signal = restart.signal
                    form.timeZone = restart.timeZone
                    form.secretNames = restart.secretChange?.secretNames ?? []
                    form.secretValue = restart.secretChange?.value ?? .missing
                } else if case .killAtCall(let party, let position) = step {
                    form.party = party
                    form.position = position
                } else if case .deliver(let delivery) = step, let crash = delivery.crash {
                    form.signal = crash.signal
                    form.phase = crash.phase
                    form.deliveryName = delivery.name
                } else {
                    return nil
                }
                return form
            }
        )
    }
}

extension Restart {
    var traits: StepTraits { .restart(.restart) }
}

extension StepTraits {
    static var killAtCall: StepTraits { .restart(.killAtCall) }

    fileprivate static func restart(_ kind: RequiredCapability.BackendStep) -> StepTraits {
        var traits = StepTraits(kind)
        traits.needs = [.restart]
        traits.endsBackendProcess = true
        traits.endDependsOnBackendTimers = true
        return traits
    }
}
