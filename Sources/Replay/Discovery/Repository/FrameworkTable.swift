extension Framework {
    static let all = javaScript + python + go + ruby + php + jvm + others

    private static let javaScriptExtensions: Set = ["js", "cjs", "mjs", "ts", "mts", "tsx", "jsx"]
    private static let python: [Framework] = [fastAPI, flask, django, pythonServer]

    // MARK: JavaScript

    private static let javaScript = [
        next, supabase, firebase, deno, nest, fastify, express, nodeServer,
    ]

    private static let next = Framework(
        name: "Next.js",
        extensions: javaScriptExtensions,
        starts: [
            StartRule(
                file: #"^package\.json$"#,
                text: #""next"\s*:"#,
                command: "npx next dev -p {{port}}"
            )
        ],
        routes: RouteSyntax(files: [
            RouteSyntax.FileRoute(
                path: #"(?:^|/)app(?<path>/.*)/route\.[jt]sx?$"#,
                methods:
                    #"export\s+(?:async\s+)?(?:function|const|let)\s+(?<method>GET|POST|PUT|PATCH|DELETE)\b|export\s*\{[^}]*\b(?<method>POST|GET)\b"#
            ),
            RouteSyntax.FileRoute(path: #"(?:^|/)pages(?<path>/api/.*?)(?:/index)?\.[jt]s$"#),
            RouteSyntax.FileRoute(path: #"(?:^|/)routes(?<path>/.*)/\+server\.[jt]s$"#),
            RouteSyntax.FileRoute(
                path: #"(?:^|/)server(?<path>/(?:api|routes)/.*?)(?:\.(?:post|get))?\.[jt]s$"#,
                methods: #"(?<method>defineEventHandler)"#
            ),
        ])
    )

    private static let supabase = Framework(
        name: "Supabase function",
        extensions: javaScriptExtensions,
        starts: [
            StartRule(
                file: #"(?:^|/)supabase/functions/[^/_][^/]*/index\.[jt]s$"#,
                command: "deno run --allow-all {{file}}",
                isOneProgramPerFile: true
            )
        ],
        environment: ["DENO_SERVE_ADDRESS": "tcp:127.0.0.1:{{port}}"],
        routes: RouteSyntax(files: [
            RouteSyntax.FileRoute(
                path: #"(?:^|/)supabase/functions(?<path>/[^/_][^/]*)/index\.[jt]s$"#,
                methods: #"(?<method>POST)|\b(?:Deno\.)?serve\("#
            )
        ])
    )

    private static let firebase = Framework(
        name: "Firebase function",
        extensions: javaScriptExtensions,
        starts: [
            StartRule(
                file: #"\.[cm]?js$"#,
                text: Pattern(stringLiteral: functionName(as: "app")),
                command: "npx --yes @google-cloud/functions-framework --target={{app}} "
                    + "--port={{port}}",
                isOneProgramPerMatch: true
            ),
            StartRule(
                file: #"\.ts$"#,
                text: Pattern(stringLiteral: functionName(as: "app")),
                command: "npm run build && npx --yes @google-cloud/functions-framework "
                    + "--target={{app}} --port={{port}}",
                isOneProgramPerMatch: true
            ),
        ],
        // Each function is a program that serves every path.
        routes: RouteSyntax(
            requires: ["onRequest("],
            declarations: [Pattern(stringLiteral: functionName(as: "path"))]
        )
    )

    /// The pattern of a function that receives requests, with its name in a group.
    private static func functionName(as group: String) -> String {
        #"^(?:exports\.|export\s+const\s+)(?<"# + group
            + #">\w+)\s*=\s*(?:\w+\s*\.\s*|\w+\([^()]*\)\s*\.\s*)*onRequest\("#
    }

    private static let deno = Framework(
        name: "Deno",
        extensions: javaScriptExtensions,
        starts: [
            StartRule(
                file: #"^deno\.jsonc?$"#,
                text: #""(?<app>start|dev)"\s*:"#,
                command: "deno task {{app}}"
            ),
            StartRule(
                file: #"^(?!(?:.*/)?supabase/functions/).*\.[jt]s$"#,
                text: #"Deno\.serve\("#,
                command: "deno run --allow-all {{file}}",
                isWeak: true
            ),
        ],
        environment: ["DENO_SERVE_ADDRESS": "tcp:127.0.0.1:{{port}}"]
    )

    private static let nest = Framework(
        name: "NestJS",
        extensions: javaScriptExtensions,
        starts: [],
        routes: RouteSyntax(
            requires: ["@Controller", "setGlobalPrefix"],
            declarations: [
                #"@(?<method>Get|Post|Put|Patch|Delete|All)\(\s*(?:["'`](?<path>[^"'`]*)["'`])?\s*\)"#
            ],
            blocks: [
                RouteSyntax.Block(
                    pattern:
                        #"@Controller\(\s*(?:\{[^}]*?path:\s*)?["'`](?<path>[^"'`]*)["'`]|@Controller\(\s*(?<path>)\)"#,
                    extent: .untilNext
                )
            ],
            globalPrefixes: [#"setGlobalPrefix\(\s*["'`](?<path>[^"'`]+)["'`]"#]
        )
    )

    private static let fastify = Framework(
        name: "Fastify",
        extensions: javaScriptExtensions,
        starts: [],
        routes: RouteSyntax(
            declarations: [
                #"method:\s*\[?\s*["'](?<method>GET|POST|PUT|PATCH|DELETE)["'][\],\s]+(?:url|path):\s*["'`](?<path>/[^"'`\s]*)["'`]"#,
                #"(?:url|path):\s*["'`](?<path>/[^"'`\s]*)["'`]\s*,\s*method:\s*\[?\s*["'](?<method>GET|POST|PUT|PATCH|DELETE)["']"#,
            ],
            mounts: [
                #"\b(?<object>\w+)\.register\(\s*(?<target>(?:import|require)\(\s*["'`][^"'`]+["'`]\s*\)|[\w.]+)\s*,\s*\{[^}]*?prefix:\s*["'`](?<path>/[^"'`]*)["'`]"#,
                #"\b(?<object>\w+)\.register\(\s*(?<target>(?:import|require)\(\s*["'`][^"'`]+["'`]\s*\)|[\w.]+)\s*(?:,\s*\{(?![^}]*prefix)[^}]*\}\s*)?\)"#,
            ]
        )
    )

    private static let express = Framework(
        name: "Express, Koa or Hono",
        extensions: javaScriptExtensions,
        starts: [],
        routes: RouteSyntax(
            declarations: [
                #"(?<![\w.])(?:this\.)?(?<object>\w+)\s*\.\s*(?<method>get|post|put|patch|delete|all|route)\s*(?:<[^>(]*>)?\(\s*["'`](?<path>/[^"'`\s]*)["'`]\s*[,)](?:\s*\.\s*(?<verb>get|post|put|patch|delete)\()?"#
            ],
            objects: [
                #"\b(?<object>\w+)\s*=\s*new\s+\w*(?:Router|Hono|Elysia)\w*\s*(?:<[^>]*>)?\(\s*\{[^}]*prefix:\s*["'`](?<path>/[^"'`]*)["'`]"#,
                #"\b(?<object>\w+)\s*=\s*(?<parent>\w+)\.basePath\(\s*["'`](?<path>/[^"'`]*)["'`]"#,
            ],
            mounts: [
                #"\b(?<object>\w+)\s*\.\s*(?:use|route)\(\s*["'`](?<path>/[^"'`]*)["'`]\s*,\s*(?<target>[^;\n]+)"#,
                #"\b(?<object>\w+)\s*\.\s*use\(\s*(?<target>[A-Za-z_$][^;\n"'`]*|require\([^;\n]+)"#,
            ]
        )
    )

    private static let nodeServer = Framework(
        name: "Node.js",
        extensions: javaScriptExtensions,
        starts: [
            StartRule(
                file: #"\.(?:js|cjs|mjs)$"#,
                text: #"\.listen\("#,
                command: "node {{file}}",
                isWeak: true
            ),
            StartRule(
                file: #"\.m?ts$"#,
                text: #"\.listen\("#,
                command: "npx tsx {{file}}",
                isWeak: true
            ),
        ],
        routes: RouteSyntax(
            requires: [".method", "createServer", "serve("],
            declarations: [
                #"(?<method>GET|POST|PUT|PATCH|DELETE)["'`]\s*&&[^\n]{0,80}?(?:url|pathname|path)\s*={2,3}\s*["'`](?<path>/[^"'`\s?]*)["'`]"#,
                #"(?:url|pathname|path)\s*={2,3}\s*["'`](?<path>/[^"'`\s?]*)["'`](?:[^\n]{0,80}?["'`](?<method>GET|POST|PUT|PATCH|DELETE)["'`])?"#,
                #"(?:url|pathname|path)\.startsWith\(\s*["'`](?<path>/[^"'`\s?]*)["'`]"#,
            ]
        )
    )

    // MARK: Python

    private static let pythonRouters =
        #"^\s*(?<object>\w+)\s*(?::\s*[\w.]+\s*)?=\s*(?:\w+\.)?(?:APIRouter|Blueprint|FastAPI|Router|Namespace)\([^)]*?\b(?:url_)?prefix\s*=\s*f?["'](?<path>[^"']*)["']"#

    private static let fastAPI = Framework(
        name: "FastAPI or Starlette",
        extensions: ["py"],
        starts: [
            StartRule(
                file: #"\.py$"#,
                text:
                    #"^(?<app>\w+)\s*(?::\s*[\w.]+\s*)?=\s*(?:\w+\.)?(?:FastAPI|Starlette|Litestar|Quart)\("#,
                command: "python -m uvicorn {{module}}:{{app}} --port {{port}}"
            ),
            StartRule(
                file: #"\.py$"#,
                text:
                    #"^def\s+(?<app>\w+)\((?:\s*\w+[^()\n=,]*=[^()\n]*)?\)[^\n]*\n(?:(?:[ \t][^\n]*)?\n)*?[ \t]+\w+\s*(?::\s*[\w.]+\s*)?=\s*(?:\w+\.)?(?:FastAPI|Starlette)\("#,
                command: "python -m uvicorn {{module}}:{{app}} --factory --port {{port}}"
            ),
        ],
        routes: RouteSyntax(
            declarations: [
                #"@\s*(?<object>\w+)\.(?<method>get|post|put|patch|delete|route|api_route)\(\s*["'](?<path>[^"']*)["'][^)]*"#,
                #"\bRoute\(\s*["'](?<path>/[^"']*)["'][^)]*"#,
                #"\.(?:add_api_route|add_url_rule|add_route)\(\s*["'](?<path>/[^"']*)["'][^)]*"#,
                #"\.add_(?<method>get|post|put|patch|delete)\(\s*["'](?<path>/[^"']*)["']"#,
            ],
            objects: [Pattern(stringLiteral: pythonRouters)],
            mounts: [
                #"\b(?<object>\w+)\.(?:include_router|register_blueprint)\(\s*(?<target>[\w.]+)\s*,?(?:[^()]*?\b(?:url_)?prefix\s*=\s*(?:f?["'](?<path>[^"']*)["']|(?<constant>[A-Za-z_][\w.]*)))?"#,
                #"\b(?<object>\w+)\.mount\(\s*["'](?<path>/[^"']*)["']\s*,\s*(?<target>[\w.]+)"#,
            ]
        )
    )

    private static let flask = Framework(
        name: "Flask",
        extensions: ["py"],
        starts: [
            StartRule(
                file: #"\.py$"#,
                text: #"^(?<app>\w+)\s*=\s*(?:\w+\.)?Flask\("#,
                command: "python -m flask --app {{module}}:{{app}} run --port {{port}}"
            ),
            StartRule(
                file: #"\.py$"#,
                text: #"^def\s+(?<app>create_app|make_app)\((?=[\s\S]*\bFlask\()"#,
                command: "python -m flask --app {{module}}:{{app}} run --port {{port}}"
            ),
        ]
    )

    private static let django = Framework(
        name: "Django",
        extensions: ["py"],
        starts: [
            StartRule(
                file: #"(?:^|/)manage\.py$"#,
                command: "python {{file}} runserver --noreload {{port}}"
            )
        ],
        routes: RouteSyntax(
            requires: ["urlpatterns"],
            declarations: [
                #"^[^#\n]*\b(?:re_)?path\(\s*r?["'](?<path>[^"']*)["']\s*,\s*(?!include\b)"#,
                #"^[^#\n]*\burl\(\s*r?["'](?<path>[^"']*)["']\s*,\s*(?!include\b)"#,
            ],
            mounts: [
                #"^[^#\n]*\b(?:path|re_path|url)\(\s*r?["'](?<path>[^"']*)["']\s*,\s*include\(\s*\(?\s*["'](?<target>[\w.]+)["']"#
            ]
        )
    )

    /// A call that serves until the program ends.
    private static let pythonServerCall =
        #"^[ \t]*(?:\w+\.run\(|uvicorn\.run\(|\w+\.serve_forever\(|web\.run_app\(|run\(\s*(?:app\s*=\s*)?\w+\s*,[^\n]*\b(?:host|port|server)\s*=)"#

    private static let pythonServer = Framework(
        name: "Python",
        extensions: ["py"],
        starts: [
            StartRule(
                file: #"(?:^|/)__main__\.py$"#,
                text: Pattern(stringLiteral: pythonServerCall),
                command: "python -m {{module}}",
                isWeak: true
            ),
            StartRule(
                file: #"^(?!(?:.*/)?(?:(?:alembic|migrations)/|__main__\.py$)).*\.py$"#,
                text: Pattern(stringLiteral: pythonServerCall),
                command: "python {{file}}",
                isWeak: true
            ),
        ],
        routes: RouteSyntax(
            requires: ["BaseHTTPRequestHandler", "SimpleHTTPRequestHandler"],
            declarations: [#"\bpath\s*==\s*["'](?<path>/[^"'?]*)["']"#]
        )
    )
}
