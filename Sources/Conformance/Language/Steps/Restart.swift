/// The backend is stopped and started again on the same data.
package struct Restart: Hashable, Codable, Sendable {
    package enum Signal: String, Hashable, Codable, Sendable, CaseIterable {
        case kill = "KILL"
        case terminate = "TERM"
    }

    package var signal: Signal
    /// The backend comes back in this time zone, by the variable `TZ`; nil leaves it alone.
    package var timeZone: String?

    package init(signal: Signal, timeZone: String? = nil) {
        self.signal = signal
        self.timeZone = timeZone
    }
}

/// A stop of the backend in the middle of a delivery.
package struct Crash: Hashable, Codable, Sendable {
    /// How far the delivery has come.
    package enum Moment: String, Hashable, Codable, Sendable, CaseIterable {
        /// Half of the request is out.
        case halfSent = "half-sent"
        /// All of the request is out.
        case sent
        /// An eighth of the time has passed that the backend usually takes.
        case early
        /// Half of it.
        case working
        /// Seven eighths of it.
        case late
        /// The answer is there.
        case answered

        /// So much of the time has passed that the backend usually takes.
        package var share: Double {
            switch self {
            case .halfSent, .sent, .answered: 0
            case .early: 0.125
            case .working: 0.5
            case .late: 0.875
            }
        }
    }

    package var signal: Restart.Signal
    package var moment: Moment

    /// Whether the backend is to die before it has answered.
    package var interrupts: Bool { signal == .kill && moment != .answered }

    package init(signal: Restart.Signal, moment: Moment) {
        self.signal = signal
        self.moment = moment
    }
}

/// What `restart` says: a stop between two steps, in the middle of a delivery, or at a call.
struct RestartForm: Hashable, Sendable {
    var signal = Restart.Signal.kill
    var during: String?
    var moment = Crash.Moment.sent
    var timeZone: String?
    /// At which call to that provider the backend dies.
    var party: Exchange.Party?
    var position: Int?

    static let grammar = Construct<RestartForm>(
        "restart",
        "a restart",
        "Stops the backend and starts it again on the same data.",
        blank: { _ in RestartForm() }
    ) {
        Field.value(
            "signal",
            \.signal,
            .choice("signal"),
            default: .kill,
            "How the backend is stopped."
        )
        Field.optional(
            "during",
            \.during,
            .earlierDelivery,
            "The delivery in whose first attempt it is stopped.",
            fallback: "between the steps"
        )
        Field.value(
            "moment",
            \.moment,
            .choice("moment"),
            default: .sent,
            "How far that delivery has come."
        )
        Field.optional(
            "time-zone",
            \.timeZone,
            .text("a time zone, such as Pacific/Auckland"),
            "The backend comes back with this in its variable `TZ`.",
            fallback: "as it was"
        )
        Field.optional(
            "at-call",
            \.position,
            .count(1...1000),
            "While the steps before it go on, the backend is killed at this call to a provider; "
                + "counted from 1."
        )
        Field.optional(
            "to",
            \.party,
            ProviderPlan.party,
            "The provider whose calls `at-call` counts."
        )
    }
    .beside("moment", ["during"])
    .beside("at-call", ["to"])
    .beside("to", ["at-call"])
    .exclusive(["during", "time-zone"])
    .exclusive(["during", "at-call"])
    .exclusive(["time-zone", "at-call"])
    .checking { form, keys, reader in
        guard form.position != nil, form.signal != .kill, let signal = keys["signal"] else {
            return
        }
        reader.fail(
            .conflict("at a call the backend is killed", remedy: "Write 'signal: KILL'."),
            at: signal.location
        )
    }

    static let syntax = Syntax<RestartForm>.either(
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
            var plain = RestartForm()
            plain.signal = form.signal
            return form != plain
        }
    )
}

extension StepForm {
    static let restart = StepForm(
        "restart",
        RestartForm.syntax,
        "Stops the backend and starts it again on the same data: a signal, or a mapping that says "
            + "more.",
        read: { node, reader in
            guard let form = RestartForm.syntax.read(node, &reader) else { return nil }
            if let party = form.party, let position = form.position {
                return .killAtCall(party: party, position: position)
            }
            guard let name = form.during else {
                return .restart(Restart(signal: form.signal, timeZone: form.timeZone))
            }
            if reader.crashes[name] != nil {
                reader.fail(
                    .conflict(
                        "'\(name)' is interrupted twice",
                        remedy: "Keep one restart for each delivery."
                    ),
                    at: node.location
                )
            }
            reader.crashes[name] = Crash(signal: form.signal, moment: form.moment)
            return nil
        },
        write: { step in
            var form = RestartForm()
            if case .restart(let restart) = step {
                form.signal = restart.signal
                form.timeZone = restart.timeZone
            } else if case .killAtCall(let party, let position) = step {
                form.party = party
                form.position = position
            } else if case .deliver(let delivery) = step, let crash = delivery.crash {
                form.signal = crash.signal
                form.moment = crash.moment
                form.during = delivery.name
            } else {
                return nil
            }
            return form
        }
    )
}

extension Restart {
    var traits: StepTraits { .restart(.restart) }
}

extension StepTraits {
    static var killAtCall: StepTraits { .restart(.killAtCall) }

    fileprivate static func restart(_ kind: Demand.BackendStep) -> StepTraits {
        var traits = StepTraits(kind)
        traits.needs = [.restart]
        traits.restarts = true
        traits.isDisturbance = true
        return traits
    }
}
