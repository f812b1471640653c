/// The frame of a self-contained HTML page, with the style sheet and the only script of the page.
enum HTMLPage {
    /// The SHA-256 digest of the only script that the browser may run, so that injected scripts
    /// cannot run.
    private static let scriptDigest = "LeCfswi8X/l6UKVjevHiy/MoOZh8QWd1rVV8WBTNEXU="

    static func page(_ title: String, _ body: String) -> String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
        style-src 'unsafe-inline'; img-src data:; script-src 'sha256-\(scriptDigest)'">
        <title>\(HTMLText.escaped(title))</title>
        <style>
        \(style)
        </style></head><body>
        \(body)<script>\(script)</script></body></html>

        """
    }

    /// The script of the page.
    ///
    /// It copies commands to the clipboard, and filters the table of cases by the words that the
    /// user types.
    private static let script = """

        'use strict';
        document.addEventListener('click', event => {
          const button = event.target.closest('button.copy');
          if (!button) return;
          const code = button.previousElementSibling;
          const done = () => { button.textContent = 'copied'; };
          const select = () => {
            getSelection().selectAllChildren(code);
            if (document.execCommand('copy')) done();
          };
          if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
          else select();
        });
        const open = () => {
          const block = location.hash && document.getElementById(location.hash.slice(1));
          if (block) block.open = true;
        };
        addEventListener('hashchange', open);
        open();
        const search = document.getElementById('search');
        if (search) search.addEventListener('input', () => {
          const words = search.value.toLowerCase().split(/\\s+/);
          for (const row of document.querySelectorAll('#all tbody tr')) {
            const text = row.textContent.toLowerCase();
            row.hidden = !words.every(word => text.includes(word));
          }
        });

        """

    private static let style = """
        :root{color-scheme:light dark;--ink:#1c1f24;--dim:#5b6472;--line:#d9dee6;--card:#f6f8fa;
        --green:#1a7f37;--red:#c62f2f;--amber:#8a5a00;--paper:#fff;--mark:#fff0b3;--blue:#0b57a4}
        @media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#9aa5b5;--line:#333a45;
        --card:#1d2229;--green:#4ac26b;--red:#ff7b72;--amber:#d4a72c;--paper:#14181d;
        --mark:#5c4a00;--blue:#79b8ff}}
        body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
        max-width:66rem;margin:2rem auto;padding:0 1rem}
        h1{margin:0;font-size:1.6rem}h2{font-size:1.1rem;margin:2rem 0 .6rem}a{color:var(--blue)}
        .sub{color:var(--dim);font-size:.87rem}.cards{display:flex;flex-wrap:wrap;gap:.6rem}
        .card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;
        padding:.5rem .9rem;display:flex;flex-direction:column}
        .card b{font-size:1.25rem}.card span{color:var(--dim);font-size:.82rem}
        .card.failed b,.card.unexpectedPass b{color:var(--red)}
        .card.passed b,.card.grade b{color:var(--green)}.card.grade.none b{color:var(--dim)}
        .card.inconclusive b,.card.knownFailure b,.card.remark b{color:var(--amber)}
        .clauses{display:flex;flex-wrap:wrap;gap:.3rem}
        .chip{border:1px solid var(--line);border-radius:.35rem;padding:0 .4rem;font-size:.82rem;
        white-space:nowrap}
        .chip.passed,.chip.proven{color:var(--green);border-color:currentColor}
        .chip.failed,.chip.unexpectedPass{color:var(--red);border-color:currentColor}
        .chip.inconclusive,.chip.knownFailure,.chip.remark{color:var(--amber);border-color:currentColor}
        .chip.notRun,.chip.notApplicable,.chip.unproven{color:var(--dim)}
        .block{border:1px solid var(--line);border-radius:.5rem;padding:.6rem .9rem;margin:.6rem 0;
        content-visibility:auto;contain-intrinsic-size:auto 3rem}
        summary{cursor:pointer;overflow-wrap:anywhere}
        dl{display:grid;grid-template-columns:6rem 1fr;gap:.15rem .6rem;margin:.6rem 0}
        dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
        mark{background:var(--mark);color:inherit;border-radius:.2rem}
        pre{background:var(--card);padding:.7rem;border-radius:.4rem;overflow-x:auto;font-size:.8rem;
        margin:.3rem 0}
        .cmd{display:flex;gap:.6rem;align-items:start;background:var(--card);padding:.5rem .7rem;
        border-radius:.4rem;margin:.6rem 0}.cmd code{flex:1}
        button,input{font:inherit;font-size:.87rem;color:inherit;background:var(--paper);
        border:1px solid var(--line);border-radius:.35rem;padding:.1rem .6rem}
        input{width:100%;box-sizing:border-box;padding:.35rem .6rem;margin-bottom:.5rem}
        .wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
        th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid var(--line);
        vertical-align:top}.num{text-align:right;font-variant-numeric:tabular-nums}
        code{font-size:.86rem;overflow-wrap:anywhere}.links{font-size:.82rem;overflow-wrap:anywhere}
        .seq{overflow-x:auto;margin:.8rem 0}
        .seq .row{display:grid;grid-template-columns:6rem minmax(34rem,1fr);min-width:40rem;
        list-style:none}.seq .row::-webkit-details-marker{display:none}
        .seq time{font-size:.74rem;color:var(--dim);font-variant-numeric:tabular-nums;
        padding-top:.2rem}
        .seq .lanes{position:relative;height:2.3rem;overflow:hidden;background:
        repeating-linear-gradient(90deg,transparent 0 calc(50%/var(--n) - 1px),var(--line)
        calc(50%/var(--n) - 1px) calc(50%/var(--n)),transparent calc(50%/var(--n))
        calc(100%/var(--n)))}
        .seq .head .lanes{display:flex;height:auto;background:none}
        .seq .head b{flex:1;text-align:center;font-size:.8rem}
        .seq .say{position:absolute;left:calc((var(--a) + .5)*100%/var(--n) + .4rem);top:.05rem;
        font-size:.76rem;white-space:nowrap;background:var(--paper);padding:0 .2rem}
        .seq .say.turned{left:auto;right:calc((var(--n) - var(--a) - var(--w) - .5)*100%/var(--n) +
        .4rem)}
        .seq .say i{font-style:normal;color:var(--green)}
        .seq .arrow{position:absolute;left:calc((var(--a) + .5)*100%/var(--n));
        width:calc(var(--w)*100%/var(--n));top:1.75rem;border-top:2px solid var(--dim)}
        .seq .arrow::after{content:"";position:absolute;top:-6px;border:5px solid transparent}
        .seq .right::after{right:-1px;border-left-color:var(--dim);border-right-width:0;
        border-left-width:8px}
        .seq .left::after{left:-1px;border-right-color:var(--dim);border-left-width:0;
        border-right-width:8px}
        .seq .self{width:.6rem}
        .seq .bad .say i,.seq .lost .say i{color:var(--red)}
        .seq .lost .arrow{border-top-style:dashed;border-color:var(--red)}
        .seq .lost .arrow::after{content:"✕";color:var(--red);border:0;top:-.8rem;font-size:.9rem}
        .seq .seen .arrow{border-color:var(--red)}
        .seq .seen .say{color:var(--red);font-weight:600}
        .seq .right.arrow::after{left:auto}.said{margin:.2rem 0 .8rem 6rem;display:grid;gap:.8rem;
        grid-template-columns:repeat(auto-fit,minmax(16rem,1fr))}.said p{margin:0}
        .seq summary.row:hover{background:var(--card)}
        @media(max-width:40rem){body{margin:1rem auto;padding:0 .6rem}dl{grid-template-columns:1fr}
        dt{margin-top:.3rem}.causes thead{display:none}.causes td{display:inline-block;
        border:0;padding:.15rem .4rem}.causes .links{display:block;border-bottom:1px solid
        var(--line);padding-bottom:.5rem}.seq .row{grid-template-columns:4.4rem minmax(30rem,1fr);
        min-width:34rem}}
        @media print{.block{content-visibility:visible}button,input{display:none}}
        """
}
