package import Redaction

extension Profile {
    /// The settings with which Assay starts a backend, and stops it.
    package struct StartSettings: Hashable, Codable, Sendable {
        package var command: String
        /// The shell command that builds the backend, once in a run; nil: there is nothing to
        /// build.
        package var build: String?
        /// The request that shows whether the backend is ready; nil: any response to `GET /` except
        /// 502, 503 and 504 shows it.
        package var ready: ReadinessCheck?
        /// The environment variables of the backend, by name.
        ///
        /// Their values may contain templates, and `${NAME}` for a variable of Assay's own
        /// environment.
        package var environment: [String: String]
        /// The values of the `${NAME}` variables that occur in `environment`, by name; they are
        /// never saved.
        package var variables: [String: Secret] = [:]
        /// The path of a file with environment variables of the backend; nil: there is none.
        package var environmentFile: String?
        /// The variables in this file that Assay's own environment does not set, by name.
        ///
        /// They are never saved, and values in `environment` come first.
        package var fileVariables: [String: Secret] = [:]
        /// The maximum time from the start of the backend until it is ready; nil: `defaultTimeout`.
        package var timeout: Duration?
        /// The working directory of the command, relative to the profile's folder; nil: Assay's
        /// working directory.
        package var folder: String?
        package var stop: StopSettings?
        package var intercept: InterceptionSettings?

        /// Whether each backend that Assay starts keeps its data in a new folder.
        ///
        /// This is true when the command or an environment variable contains `{{data}}`, the path
        /// of that folder. Otherwise, the database may outlive a run and be shared by several runs.
        package var usesRunDataFolder: Bool {
            ([command] + environment.values).contains { $0.contains("{{data}}") }
        }

        /// Whether calls to the providers' real hosts are redirected to the fakes.
        package var isIntercepted: Bool { intercept?.isOn == true }

        package static let defaultTimeout: Duration = .seconds(30)

        package init(
            command: String,
            ready: ReadinessCheck? = nil,
            environment: [String: String] = [:]
        ) {
            self.command = command
            self.ready = ready
            self.environment = environment
        }

        private enum CodingKeys: String, CodingKey {
            case command, build, ready, environment, environmentFile, timeout, folder, stop
            case intercept
        }

        /// Returns a value of `environment` with its `${NAME}` variables replaced by their values.
        package func expanded(_ text: String) -> String {
            VariableText.expanded(text, value: { variables[$0]?.exposed }, missing: { _ in })
        }
    }

    /// The request that shows that a started backend is ready.
    package struct ReadinessCheck: Hashable, Codable, Sendable {
        package var method: String
        package var path: String
        /// The required status of the response; nil: any status below 400.
        package var status: Int?

        package init(method: String, path: String, status: Int? = nil) {
            self.method = method
            self.path = path
            self.status = status
        }
    }

    /// The interception of calls that a started backend makes.
    ///
    /// Calls to the providers' real hosts are redirected to the fakes, and calls to all other hosts
    /// are refused.
    package struct InterceptionSettings: Hashable, Codable, Sendable {
        package var isOn: Bool
        /// The hosts of other services, such as a database, that the backend may still call.
        package var allowed: [String] = []

        package init(isOn: Bool = false) { self.isOn = isOn }
    }

    /// The signal that asks a started backend to exit, and the time until it is killed.
    package struct StopSettings: Hashable, Codable, Sendable {
        package enum Signal: String, Hashable, Codable, Sendable, CaseIterable {
            case terminate = "SIGTERM"
            case interrupt = "SIGINT"
            case quit = "SIGQUIT"
            case hangUp = "SIGHUP"
        }

        package var signal = Signal.terminate
        /// The time that the backend has to exit after the signal, before it is killed.
        package var within: Duration = defaultTimeoutUntilKilled

        package static let defaultTimeoutUntilKilled: Duration = .seconds(10)

        package init() {}
    }
}
