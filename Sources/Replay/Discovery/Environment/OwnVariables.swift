internal import Foundation

/// The environment variables that the owner of the backend has set, in `.env` files or in the
/// shell.
///
/// `init` keeps their values, except those about services for which Assay has a fake.
package struct OwnVariables: Sendable {
    /// The names of the variables with a value.
    let names: Set<String>
    /// The names of the variables that the owner has left empty.
    let emptyNames: Set<String>
    /// The databases that the values name, by the name of the variable.
    package let databases: [Database]
    /// The project whose ID tokens the backend accepts; nil if no value names it.
    let tokenProject: String?

    /// A database that a variable names, without the user and the password.
    package struct Database: Hashable, Sendable {
        package let variable: String
        /// The scheme of the URL, such as `postgresql`.
        package let scheme: String
        /// The host; empty for a file or a local socket.
        package let host: String
        /// The name of the database; empty if the URL contains none.
        package let name: String

        /// Whether the database is on this machine.
        package var isLocal: Bool {
            ["", "localhost", "127.0.0.1", "[::1]", "::1", "0.0.0.0", "host.docker.internal"]
                .contains(host) || host.hasSuffix(".localhost") || !host.contains(".")
        }

        /// The database as text for the user.
        package var text: String {
            let place = host.isEmpty ? "" : " on \(host)"
            return "the \(scheme) database\(name.isEmpty ? "" : " '\(name)'")\(place)"
        }
    }

    /// - Parameter values: The values of the variables, by name.
    package init(_ values: [String: String] = [:]) {
        let set = values.filter { !$0.value.isEmpty }
        names = Set(set.keys)
        emptyNames = Set(values.keys).subtracting(names)
        var databases = set.sorted { $0.key < $1.key }.compactMap(Self.database)
        if databases.isEmpty, let host = set["DB_HOST"] ?? set["DATABASE_HOST"] ?? set["PGHOST"] {
            let variable = ["DB_NAME", "DB_DATABASE", "DATABASE_NAME", "PGDATABASE"]
                .first { set[$0] != nil }
            let name = variable.flatMap { set[$0] } ?? ""
            databases = [
                Database(
                    variable: variable ?? "DB_NAME",
                    scheme: set["DB_CONNECTION"] ?? "SQL",
                    host: host,
                    name: name
                )
            ]
        }
        self.databases = databases
        tokenProject = TokenProject.id(in: set)
    }

    private static let schemes: Set<String> = [
        "postgres", "postgresql", "mysql", "mysql2", "mariadb", "mongodb", "mongodb+srv",
        "sqlserver", "cockroachdb", "jdbc:postgresql", "jdbc:mysql", "libsql",
    ]

    /// The domains of services that host databases behind an HTTPS interface.
    private static let hostedDatabaseDomains = [
        "supabase.co", "supabase.in", "turso.io", "upstash.io", "hasura.app",
    ]

    /// Returns the database that a value names; nil if the value is not the URL of a database.
    private static func database(_ entry: (key: String, value: String)) -> Database? {
        guard let separator = entry.value.firstRange(of: "://") else { return nil }
        let scheme = String(
            entry.value[..<separator.lowerBound].prefix {
                $0 != "+" || entry.value.hasPrefix("mongodb")
            }
        )
        let isDatabase = schemes.contains(scheme.lowercased())
        guard isDatabase || ["http", "https"].contains(scheme.lowercased()) else { return nil }
        let rest = entry.value[separator.upperBound...].prefix { $0 != "?" && $0 != "#" }
        let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let authority = parts.first.map(String.init) ?? ""
        let address = authority.split(separator: "@").last.map(String.init) ?? authority
        let host =
            address.hasPrefix("[")
            ? address.prefix { $0 != "]" } + "]" : address.prefix { $0 != ":" }
        let domain = hostedDatabaseDomains.first { host.lowercased().hasSuffix("." + $0) }
        guard isDatabase || domain != nil else { return nil }
        return Database(
            variable: entry.key,
            scheme: domain.flatMap { $0.split(separator: ".").first }.map(String.init)
                ?? scheme.lowercased(),
            host: String(host),
            name: parts.count > 1 ? String(parts[1]) : ""
        )
    }
}
