extension Framework {
    // MARK: Go

    static let go = [
        Framework(
            name: "Go",
            extensions: ["go"],
            starts: [
                StartRule(
                    file: #"\.go$"#,
                    text: #"^func main\(\)"#,
                    command: "go run ./{{folder}}"
                )
            ],
            routes: RouteSyntax(
                declarations: [
                    #"(?<![\w.])(?<object>\w+)\.(?<method>GET|POST|PUT|PATCH|DELETE|Any)\(\s*"(?<path>[^"\s]*)""#,
                    #"(?<![\w.])(?<object>\w+)\.(?<method>Get|Post|Put|Patch|Delete|All)\(\s*"(?<path>/[^"\s]*)""#,
                    #"\.(?:Handle|HandleFunc)\(\s*"(?:(?<method>GET|POST|PUT|PATCH|DELETE) )?(?<path>/[^"\s]*)"(?:[^\n]*?\.Methods\(\s*(?:http\.Method|")(?<verb>\w+))?"#,
                    #"\.(?:Method|MethodFunc)\(\s*(?:http\.Method|")(?<method>\w+)"?\s*,\s*"(?<path>/[^"\s]*)""#,
                ],
                objects: [
                    #"\b(?<object>\w+)\s*:?=\s*(?<parent>\w+)\.(?:Group|PathPrefix|Party)\(\s*"(?<path>/[^"]*)""#
                ],
                blocks: [
                    RouteSyntax.Block(
                        pattern:
                            #"\b(?<object>\w+)\.(?:Route|Group|PathPrefix)\(\s*"(?<path>/[^"]*)"\s*,\s*func\("#,
                        extent: .indentation
                    )
                ],
                mounts: [
                    #"\b(?<object>\w+)\.Mount\(\s*"(?<path>/[^"]*)"\s*,\s*(?<target>[^;\n]+)"#,
                    #"^[^/\n]*?\b(?<target>\w+)\(\s*(?:\w+\s*,\s*)*?(?<object>\w+)\s*[,)]"#,
                ],
                registrars: [
                    #"^func\s+(?:\([^)]*\)\s*)?(?<target>\w+)\([^)\n]*?\b(?<object>\w+)\s+\*?(?:chi\.(?:Router|Mux)|gin\.(?:IRouter|IRoutes|RouterGroup|Engine)|echo\.(?:Group|Echo)|fiber\.(?:Router|App)|http\.ServeMux|mux\.Router)\b"#,
                    #"^func\s+(?:\([^)]*\)\s*)?(?<target>\w+)\([^)\n]*\)\s*\(?\s*\*?(?:chi\.(?:Router|Mux)|http\.Handler)\b"#,
                ]
            )
        )
    ]

    // MARK: Ruby

    static let ruby = [
        Framework(
            name: "Rails",
            extensions: ["rb"],
            starts: [
                StartRule(
                    file: #"^config/routes\.rb$"#,
                    command: "bin/rails server -p {{port}}",
                    needs: "bin/rails"
                ),
                StartRule(
                    file: #"^config/routes\.rb$"#,
                    command: "bundle exec rails server -p {{port}}",
                    isWeak: true
                ),
            ],
            environment: ["RAILS_ENV": "development"],
            routes: RouteSyntax(
                requires: ["routes.draw"],
                declarations: [
                    #"^\s*(?<method>get|post|put|patch|delete|match)[ (]\s*["'](?<path>[^"']*)["']"#,
                    #"^\s*(?<method>get|post|put|patch|delete)[ (]\s*:(?<path>\w+)"#,
                ],
                blocks: [
                    RouteSyntax.Block(
                        pattern:
                            #"^\s*namespace[ (]+["':](?<path>[\w/]+)(?![^\n]*\bpath:)[^\n]*\bdo\b|^\s*(?:namespace|scope)\b[^\n]*?\bpath:\s*["':](?<path>[\w/]*)[^\n]*\bdo\b|^\s*scope[ (]+["':](?<path>[\w/]+)[^\n]*\bdo\b|^\s*resources?[ (]+:(?<path>\w+)[^\n]*\bdo\b"#,
                        extent: .indentation
                    )
                ]
            )
        ),
        Framework(
            name: "Sinatra or Rack",
            extensions: ["rb", "ru"],
            starts: [
                StartRule(
                    file: #"^config\.ru$"#,
                    command: "bundle exec rackup -p {{port}}"
                ),
                StartRule(
                    file: #"\.rb$"#,
                    text: #"require ["']sinatra["']"#,
                    command: "ruby {{file}} -p {{port}}"
                ),
            ],
            routes: RouteSyntax(declarations: [
                #"^\s*(?<method>get|post|put|patch|delete)[ (]\s*["'](?<path>/[^"']*)["']"#
            ])
        ),
    ]

    // MARK: PHP

    static let php = [
        Framework(
            name: "Laravel",
            extensions: ["php"],
            starts: [
                StartRule(
                    file: #"^artisan$"#,
                    command: "php artisan serve --no-reload --port {{port}}"
                )
            ],
            routes: RouteSyntax(
                declarations: [
                    #"(?:Route::|\$\w+->)(?<method>get|post|put|patch|delete|any|match|map)\(\s*(?:\[[^\]]*\]\s*,\s*)?["'](?<path>[^"']*)["']\s*,"#,
                    #"#\[Route\(\s*(?:path:\s*)?["'](?<path>/[^"']*)["'][^\]]*"#,
                ],
                blocks: [
                    RouteSyntax.Block(
                        pattern:
                            #"prefix\(\s*["'](?<path>[^"']+)["']\s*\)[^;\n]*->group\(|["']prefix["']\s*=>\s*["'](?<path>[^"']+)["'][^;\n]*function|->group\(\s*["'](?<path>/[^"']*)["']\s*,"#,
                        extent: .indentation
                    )
                ],
                filePrefixes: [
                    RouteSyntax.FilePrefix(file: #"(?:^|/)routes/api\.php$"#, prefix: "/api")
                ]
            )
        ),
        Framework(
            name: "PHP",
            extensions: ["php"],
            starts: [
                StartRule(
                    file: #"^public/index\.php$"#,
                    command: "php -S 127.0.0.1:{{port}} -t public"
                ),
                StartRule(
                    file: #"\.php$"#,
                    text: #"php://input"#,
                    command: "php -S 127.0.0.1:{{port}}",
                    isWeak: true
                ),
            ],
            routes: RouteSyntax(
                requires: ["php://input"],
                declarations: [
                    #"(?:path|uri|REQUEST_URI\b[^=\n]*)\s*={2,3}\s*["'](?<path>/[^"'?]*)["']"#
                ],
                files: [
                    RouteSyntax.FileRoute(
                        path: #"^(?:public/)?(?<path>.*\.php)$"#,
                        methods: #"(?<method>php)://input"#
                    )
                ]
            )
        ),
    ]

    // MARK: Java and Kotlin

    private static let springEnvironment = ["SERVER_PORT": "{{port}}"]

    static let jvm = [
        Framework(
            name: "Spring",
            extensions: ["java", "kt"],
            starts: [
                StartRule(
                    file: #"^pom\.xml$"#,
                    text: #"spring-boot"#,
                    command: "./mvnw -q spring-boot:run",
                    needs: "mvnw"
                ),
                StartRule(
                    file: #"^pom\.xml$"#,
                    text: #"spring-boot"#,
                    command: "mvn -q spring-boot:run",
                    isWeak: true
                ),
                StartRule(
                    file: #"^build\.gradle(?:\.kts)?$"#,
                    text: #"springframework\.boot"#,
                    command: "./gradlew -q bootRun",
                    needs: "gradlew"
                ),
                StartRule(
                    file: #"^build\.gradle(?:\.kts)?$"#,
                    text: #"springframework\.boot"#,
                    command: "gradle -q bootRun",
                    isWeak: true
                ),
            ],
            environment: springEnvironment,
            routes: RouteSyntax(
                declarations: [
                    #"@(?<method>Get|Post|Put|Patch|Delete|Request)Mapping\b(?:\(\s*(?:(?:value|path)\s*=\s*)?[{\[(]?\s*(?:"(?<path>[^"]*)")?[^)]*\))?(?![^;{}]*?\bclass\b)"#
                ],
                blocks: [
                    RouteSyntax.Block(
                        pattern:
                            #"@RequestMapping\(\s*(?:(?:value|path)\s*=\s*)?[{\[(]?\s*"(?<path>[^"]*)"[^)]*\)(?=[^;{}]*?\bclass\b)|@(?:Rest)?Controller\b(?<path>)(?![^;{}]*@RequestMapping\b)"#,
                        extent: .untilNext
                    )
                ],
                globalPrefixes: [
                    #"^\s*(?:server\.servlet\.)?context-path\s*[:=]\s*["']?(?<path>/[\w/-]+)"#
                ]
            )
        ),
        Framework(
            name: "Ktor",
            extensions: ["kt"],
            starts: [
                StartRule(
                    file: #"^build\.gradle(?:\.kts)?$"#,
                    text: #"io\.ktor"#,
                    command: "./gradlew -q run",
                    needs: "gradlew"
                )
            ],
            routes: RouteSyntax(
                declarations: [
                    #"(?<![\w.@])(?<method>get|post|put|patch|delete)\s*\(\s*"(?<path>/?[^"\s]*)"\s*\)\s*\{"#
                ],
                blocks: [
                    RouteSyntax.Block(
                        pattern: #"\broute\s*\(\s*"(?<path>[^"]*)"\s*\)\s*\{"#,
                        extent: .indentation
                    )
                ]
            )
        ),
    ]

    // MARK: Other languages

    static let others = [dotNet, rust, elixir, vapor, script, routeTable, documentation]

    /// A script that starts a program of any language.
    private static let script = Framework(
        name: "a start script",
        extensions: [],
        starts: [
            StartRule(
                file: #"(?:^|/)(?:run|start|serve|server)\.sh$"#,
                text: #"^#![^\n]*\b(?<app>(?:ba|z|da)?sh)\s*$"#,
                command: "{{app}} {{file}}",
                isWeak: true
            )
        ]
    )

    /// Routes whose method and path are one string, such as the keys of a table.
    private static let routeTable = Framework(
        name: "a table of routes",
        extensions: SourceSurvey.sourceExtensions,
        starts: [],
        routes: RouteSyntax(declarations: [
            #"(?<!request\()["'`](?<method>GET|POST|PUT|PATCH|DELETE) (?<path>/[^"'`\s]*)["'`]"#
        ])
    )

    private static let dotNet = Framework(
        name: "ASP.NET Core",
        extensions: ["cs"],
        starts: [
            StartRule(
                file: #"\.csproj$"#,
                text: #"Microsoft\.NET\.Sdk\.Web"#,
                command: "dotnet run --no-build --no-launch-profile --project {{file}}",
                build: "dotnet build {{file}}"
            )
        ],
        environment: [
            "ASPNETCORE_URLS": "http://127.0.0.1:{{port}}",
            // The launch profile of a developer sets it, and the command does not read that profile.
            "ASPNETCORE_ENVIRONMENT": "Development",
        ],
        routes: RouteSyntax(
            declarations: [
                #"\[Http(?<method>Get|Post|Put|Patch|Delete)(?:\(\s*(?:template:\s*)?(?:"(?<path>[^"]*)")?[^\]]*)?\]"#,
                #"\b(?<object>\w+)\.Map(?<method>Get|Post|Put|Patch|Delete)\(\s*"(?<path>[^"]*)""#,
            ],
            objects: [#"\b(?<object>\w+)\s*=\s*(?<parent>\w+)\.MapGroup\(\s*"(?<path>[^"]*)""#],
            blocks: [
                RouteSyntax.Block(
                    pattern:
                        #"\[Route\(\s*"(?<path>[^"]*)"\s*\)\](?=[^;{}]*?\bclass\s+\w+)(?:[^;{}]*?\bclass\s+(?<class>\w+))?"#,
                    extent: .untilNext
                )
            ]
        )
    )

    private static let rust = Framework(
        name: "Rust",
        extensions: ["rs"],
        starts: [
            StartRule(file: #"^Cargo\.toml$"#, command: "cargo run", build: "cargo build")
        ],
        routes: RouteSyntax(declarations: [
            #"\.route\(\s*"(?<path>/[^"]*)"\s*,\s*(?:\w+::)*(?<method>get|post|put|patch|delete)\("#,
            #"#\[(?<method>get|post|put|patch|delete)\(\s*"(?<path>/[^"]*)""#,
        ])
    )

    private static let elixir = Framework(
        name: "Phoenix",
        extensions: ["ex", "exs"],
        starts: [
            StartRule(file: #"^mix\.exs$"#, text: #":phoenix\b"#, command: "mix phx.server")
        ],
        routes: RouteSyntax(
            declarations: [
                #"^\s*(?<method>get|post|put|patch|delete)[ (]\s*"(?<path>/[^"]*)""#
            ],
            blocks: [
                RouteSyntax.Block(
                    pattern: #"^\s*scope[ (]\s*"(?<path>/[^"]*)"[^\n]*\bdo\b"#,
                    extent: .indentation
                )
            ]
        )
    )

    private static let vapor = Framework(
        name: "Vapor",
        extensions: ["swift"],
        starts: [
            StartRule(
                file: #"^Package\.swift$"#,
                text: #"vapor/vapor"#,
                command: "swift run App serve --port {{port}}",
                build: "swift build"
            )
        ],
        routes: RouteSyntax(declarations: [
            #"(?<![\w.])(?<object>\w+)\.(?<method>get|post|put|patch|delete)\(\s*"(?<path>[^"]*(?:"\s*,\s*"[^"]*)*)""#
        ])
    )

    /// The routes that the documentation of any backend lists.
    private static let documentation = Framework(
        name: "documentation",
        extensions: ["md"],
        starts: [],
        routes: RouteSyntax(declarations: [
            #"(?<![\w/])(?<method>GET|POST|PUT|PATCH|DELETE)[ \t`*|]+(?:https?://[^/\s`]+)?(?<path>/[\w{}:<>/.\[\]-]*)(?:\?(?<query>[^\s`)|]+))?"#
        ])
    )
}
