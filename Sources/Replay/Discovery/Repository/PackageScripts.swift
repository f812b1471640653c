internal import Values

/// The start scripts in the package manifest of a Node.js project.
struct PackageScripts: Sendable {
    /// The commands, the most likely one first, each with the name of its script.
    private(set) var commands: [(command: String, script: String)] = []
    /// The framework of an app with a user interface, if the project contains nothing else.
    private(set) var frontEnd: String?

    private static let serverPackages: Set<String> = [
        "express", "fastify", "@nestjs/core", "koa", "hono", "next", "@hapi/hapi", "restify",
        "polka", "@adonisjs/core", "elysia", "nuxt", "@sveltejs/kit", "@feathersjs/feathers",
        "sails", "micro", "@trpc/server", "apollo-server", "@remix-run/node", "@hono/node-server",
    ]
    private static let frontEndPackages: KeyValuePairs = [
        "expo": "Expo", "react-native": "React Native", "@capacitor/core": "Capacitor",
        "electron": "Electron", "react-scripts": "React", "@angular/core": "Angular",
        "nativescript": "NativeScript", "vite": "Vite", "vue": "Vue", "react": "React",
        "svelte": "Svelte",
    ]
    /// Commands that start a user interface or build tools, and no server.
    private static let frontEndCommand: Pattern =
        #"^(?:npx )?(?:expo|react-scripts|vite|ng|electron|react-native|webpack|parcel|firebase|next|nuxt|vue-cli-service|astro|serve|http-server|tsc|turbo|nx|lerna)\b|\bfirebase (?:emulators|serve|functions)|^npm run (?:shell|serve)\b|--workspace\b|\s-w\s"#
    private static let builtFile: Pattern =
        #"^node\s+(?:-\S+\s+)*(?<file>(?:\./)?(?:dist|build|out|lib|\.next|\.output)/\S+)"#

    init(_ text: String, _ manager: String) {
        guard let object = JSONValue(ifValid: Array(text.utf8)) else { return }
        let dependencies = Set(
            ["dependencies", "devDependencies"].flatMap { key in
                object[key]?.object?.members.map(\.key) ?? []
            }
        )
        let hasServer = !dependencies.isDisjoint(with: Self.serverPackages)
        let scripts = object["scripts"]
        let start = scripts?["start"]?.string
        if !hasServer, start.map({ !$0.hasPrefix("node ") }) ?? true {
            frontEnd = Self.frontEndPackages.first { dependencies.contains($0.key) }?.value
        }
        guard frontEnd == nil else { return }
        for name in ["start", "serve", "server", "dev", "start:dev", "develop"] {
            guard let script = scripts?[name]?.string,
                !Self.frontEndCommand.occurs(in: script)
            else { continue }
            commands.append(
                (Self.command(script, name, scripts, manager), "the script '\(name)'")
            )
        }
        if commands.isEmpty, let main = object["main"]?.string, main.hasSuffix("js"),
            start == nil
        {
            commands.append(("node \(main)", "'main'"))
        }
    }

    /// Returns the command that runs a script.
    private static func command(
        _ script: String,
        _ name: String,
        _ scripts: JSONValue?,
        _ manager: String
    ) -> String {
        let runsOthersBefore = scripts?["pre" + name] != nil
        let file = builtFile.first("file", in: script)
        if let file, !runsOthersBefore, scripts?["build"] != nil {
            return "[ -e \(file) ] || \(manager) run build; exec \(script)"
        }
        // A script that only calls node runs without npm, because npm would not pass on signals.
        if script.hasPrefix("node "), !runsOthersBefore, !script.contains("&&") { return script }
        return name == "start" && manager == "npm" ? "npm start" : "\(manager) run \(name)"
    }
}
