/// The frame of a self-contained HTML page, with the style sheet and the only script of the page.
enum HTMLPage {
    /// The SHA-256 digest of the only script that the browser may run, so that injected scripts
    /// cannot run.
    private static let scriptDigest = "dbSjYk2MBeQ0N7gLcovxkmUbC9gnVU/qaiMprTc7mDs="

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
    /// It copies commands to the clipboard, opens the case that an address names, and shows the
    /// cases of one result or cause that contain the words that the user types.
    private static let script = """

        'use strict';
        const cases = [...document.querySelectorAll('.case')];
        const tabs = [...document.querySelectorAll('.tabs button')];
        const search = document.getElementById('search');
        let status = tabs.find(tab => tab.ariaPressed === 'true')?.dataset.status ?? '';
        let cause = '';
        const isShown = (item, words) => {
          const matches = cause ? item.dataset.cause === cause : status === 'attention'
            ? item.dataset.attention !== undefined : !status || item.dataset.status === status;
          if (!matches || !words.length) return matches;
          item.words ??= item.textContent.toLowerCase();
          return words.every(word => item.words.includes(word));
        };
        const filter = () => {
          const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
          for (const item of cases) item.hidden = !isShown(item, words);
          for (const tab of tabs) tab.ariaPressed = String(!cause && tab.dataset.status === status);
          const count = cases.filter(item => !item.hidden).length;
          document.getElementById('shown').textContent = `${count} of ${cases.length} cases` +
            (cause ? `, those of cause ${cause}` : '');
        };
        const open = () => {
          const block = location.hash && document.getElementById(location.hash.slice(1));
          if (!block) return;
          block.open = true;
          if (block.hidden) {
            [status, cause, search.value] = ['', '', ''];
            filter();
          }
          block.scrollIntoView();
        };
        document.addEventListener('click', event => {
          const button = event.target.closest('button');
          if (!button) return;
          if (button.matches('.copy')) {
            const code = button.previousElementSibling;
            const done = () => { button.textContent = 'copied'; };
            const select = () => {
              getSelection().selectAllChildren(code);
              if (document.execCommand('copy')) done();
            };
            if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
            else select();
            return;
          }
          cause = button.dataset.cause ?? '';
          if (!cause) status = button.dataset.status;
          filter();
          if (cause) document.getElementById('cases').scrollIntoView();
        });
        document.addEventListener('keydown', event => {
          if (event.key !== '/' || !search || event.target === search) return;
          event.preventDefault();
          search.focus();
        });
        if (search) {
          search.addEventListener('input', filter);
          filter();
        }
        addEventListener('hashchange', open);
        open();

        """

    private static let style = """
        :root{color-scheme:light dark;--ink:#1c1f24;--dim:#59616e;--line:#d9dee6;--card:#f5f7fa;
        --green:#1a7f37;--red:#c62f2f;--amber:#8a5a00;--paper:#fff;--mark:#fff0b3;--blue:#0b57a4}
        @media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#9aa5b5;--line:#333a45;
        --card:#1d2229;--green:#4ac26b;--red:#ff7b72;--amber:#d4a72c;--paper:#14181d;
        --mark:#5c4a00;--blue:#79b8ff}}
        *{box-sizing:border-box}
        [hidden]{display:none!important}
        body{font:15px/1.5 system-ui,"Segoe UI","Liberation Sans",sans-serif;color:var(--ink);
        background:var(--paper);max-width:78rem;margin:0 auto;padding:1.2rem 1.2rem 4rem}
        h1{margin:.1rem 0;font-size:2rem;line-height:1.2}h2{font-size:1.2rem;margin:2rem 0 .6rem}
        h3{font-size:1rem;margin:.1rem 0}a{color:var(--blue)}
        :focus-visible{outline:3px solid var(--blue);outline-offset:1px}
        code,pre,time{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
        .sub{color:var(--dim);font-size:.87rem}
        .top{--tone:var(--amber);border-left:.4rem solid var(--tone);padding-left:1rem}
        .top.failed{--tone:var(--red)}.top.passed{--tone:var(--green)}
        .top h1{color:var(--tone)}.brand{margin:0;color:var(--dim);font-weight:600}
        .lead{margin:.1rem 0 .8rem;font-size:1.1rem}
        .bar{display:flex;height:.6rem;border-radius:.3rem;overflow:hidden;gap:2px}
        .bar span{flex:1 1 .25rem;background:var(--line)}.bar .passed{background:var(--green)}
        .bar .failed,.bar .unexpectedPass{background:var(--red)}
        .bar .inconclusive,.bar .knownFailure,.bar .remark,.bar .notRun{background:var(--amber)}
        .facts{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:.8rem 0}
        .facts dt{color:var(--dim);font-size:.8rem}.facts dd{margin:0;overflow-wrap:anywhere}
        .causes{list-style:none;counter-reset:cause;padding:0;margin:0;display:grid;gap:.6rem;
        grid-template-columns:minmax(0,1fr);overflow-wrap:anywhere}
        .causes li{--tone:var(--amber);counter-increment:cause;position:relative;
        border:1px solid var(--line);border-left:.3rem solid var(--tone);border-radius:.5rem;
        padding:.6rem .9rem .6rem 3rem;background:var(--card)}
        .causes li::before{content:counter(cause);position:absolute;left:1rem;top:.5rem;
        font-size:1.4rem;font-weight:700;color:var(--tone)}
        .causes li.failed,.causes li.unexpectedPass{--tone:var(--red)}
        .causes p{margin:.15rem 0}
        .causes .share{color:var(--tone);font-weight:600;font-size:.87rem}
        .links a,.links button{margin-left:.5rem;font-size:.85rem}
        .tools{position:sticky;top:0;z-index:2;background:var(--paper);padding:.5rem 0;
        display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;
        border-bottom:1px solid var(--line)}
        .tabs{display:flex;flex-wrap:wrap;gap:.3rem}.find{flex:1 1 18rem;display:flex;gap:.5rem;
        align-items:center}.tools p{margin:0}
        button,input{font:inherit;font-size:.87rem;color:inherit;background:var(--paper);
        border:1px solid var(--dim);border-radius:.35rem;padding:.2rem .6rem}
        button{cursor:pointer}button:hover{border-color:var(--ink)}
        button[aria-pressed=true]{background:var(--ink);color:var(--paper);border-color:var(--ink)}
        input{flex:1;min-width:0;padding:.35rem .6rem}
        .chip{border:1px solid var(--line);border-radius:.35rem;padding:0 .4rem;font-size:.8rem;
        white-space:nowrap}
        .chip.passed,.chip.proven{color:var(--green);border-color:currentColor}
        .chip.failed,.chip.unexpectedPass{color:var(--red);border-color:currentColor;
        font-weight:600}
        .chip.inconclusive,.chip.knownFailure,.chip.remark,.chip.notRun{color:var(--amber);
        border-color:currentColor}.chip.notApplicable,.chip.unproven{color:var(--dim)}
        .case{border-bottom:1px solid var(--line);content-visibility:auto;
        contain-intrinsic-size:auto 3.4rem;scroll-margin-top:5rem}
        .case.quiet,.case>summary{display:grid;gap:.1rem .8rem;align-items:start;
        grid-template-columns:8.6rem minmax(0,1fr) auto;padding:.45rem .3rem}
        .case>summary>.chip,.case.quiet>.chip{justify-self:start;margin-top:.1rem}
        .case>summary::-webkit-details-marker{display:none}.case>summary{list-style:none}
        .case>summary:hover{background:var(--card)}
        .case .name .sub{display:block;overflow-wrap:anywhere}
        .case .name code{color:var(--ink)}.clause{margin-left:.4rem}
        .case[open]{border:1px solid var(--line);border-radius:.5rem;padding:0 .9rem .6rem;
        margin:.6rem 0}.case[open]>summary{margin:0 -.9rem;padding:.6rem .9rem;
        background:var(--card);border-radius:.5rem .5rem 0 0}
        .block summary{cursor:pointer}summary{cursor:pointer;overflow-wrap:anywhere}
        .case dl{display:grid;grid-template-columns:6rem minmax(0,1fr);gap:.15rem .6rem;
        margin:.6rem 0}dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
        mark{background:var(--mark);color:inherit;border-radius:.2rem}
        pre{background:var(--card);padding:.7rem;border-radius:.4rem;overflow-x:auto;font-size:.8rem;
        margin:.3rem 0}
        .cmd{display:flex;gap:.6rem;align-items:start;background:var(--card);padding:.5rem .7rem;
        border-radius:.4rem;margin:.6rem 0}.cmd code{flex:1}
        .wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
        th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid var(--line);
        vertical-align:top}.num{text-align:right;font-variant-numeric:tabular-nums;
        color:var(--dim);font-size:.87rem}
        code{font-size:.86rem;overflow-wrap:anywhere}
        .seq{overflow-x:auto;margin:.8rem 0;font-size:.85rem;--lane:4.7rem}
        .seq .row{display:grid;grid-template-columns:3.6rem calc(var(--n)*var(--lane)) minmax(16rem,
        1fr);min-width:max-content;list-style:none}
        .seq .row>*{max-width:100%}.seq .row::-webkit-details-marker{display:none}
        .seq time{font-size:.78rem;font-weight:600;padding-top:.3rem}
        .seq .lanes{position:relative;background:repeating-linear-gradient(90deg,transparent 0
        calc(var(--lane)/2 - 1px),var(--line) calc(var(--lane)/2 - 1px) calc(var(--lane)/2),
        transparent calc(var(--lane)/2) var(--lane))}
        .seq .head .lanes{display:flex;background:none}
        .seq .head b{flex:1;text-align:center;font-size:.78rem}
        .seq .say{padding:.2rem 0 .2rem .8rem;overflow-wrap:anywhere;min-width:0;width:0;
        min-width:100%}
        .seq .say b{font-weight:600}.seq .say i{font-style:normal;font-weight:600;
        color:var(--green)}
        .seq .more{display:block;color:var(--dim)}
        .seq .arrow{position:absolute;left:calc((var(--a) + .5)*var(--lane));
        width:calc(var(--w)*var(--lane));top:.85rem;border-top:2px solid var(--dim)}
        .seq .arrow::after{content:"";position:absolute;top:-6px;border:5px solid transparent}
        .seq .right::after{right:-1px;border-left-color:var(--dim);border-right-width:0;
        border-left-width:8px}
        .seq .left::after{left:-1px;border-right-color:var(--dim);border-left-width:0;
        border-right-width:8px}
        .seq .self{width:.6rem}
        .seq .bad .say i,.seq .lost .say i{color:var(--red)}
        .seq .lost .arrow{border-top-style:dashed;border-color:var(--red)}
        .seq .lost .arrow::after{content:"✕";color:var(--red);border:0;top:-.8rem;font-size:.9rem}
        .seq .seen>.row,.seq .seen.row{background:linear-gradient(90deg,transparent 3.4rem,
        var(--mark) 3.4rem)}.seq .seen .arrow{border-color:var(--red)}
        .seq .seen .more{color:inherit}
        .said{margin:.2rem 0 .8rem 3.6rem;display:grid;gap:.8rem;
        grid-template-columns:repeat(auto-fit,minmax(16rem,1fr));width:0;min-width:calc(100% - 3.6rem)}
        .said p{margin:0}.said>div{min-width:0}
        .seq summary.row:hover{background:var(--card)}
        @media(max-width:44rem){body{padding:.8rem .7rem 3rem}h1{font-size:1.5rem}
        .case dl{grid-template-columns:minmax(0,1fr)}dt{margin-top:.3rem}
        .case.quiet,.case>summary{grid-template-columns:minmax(0,1fr) auto}
        .case .name{grid-column:1/3;grid-row:2}.clause{display:block;margin:0}
        .causes li{padding-left:2.4rem}.causes li::before{left:.7rem}.tools{position:static}
        .seq{--lane:3.4rem}.seq .head b{font-size:.56rem}}
        @media(max-width:60rem){.seq .row{grid-template-columns:3.2rem minmax(0,1fr);min-width:calc(var(--n)*var(--lane))}
        .seq .lanes{grid-column:1/3;grid-row:2;height:1.1rem;
        width:calc(var(--n)*var(--lane))}.seq .head .lanes{height:auto}
        .seq .say{padding-left:0}.seq .arrow{top:.5rem}.said{margin-left:0;min-width:100%}
        .seq .seen>.row,.seq .seen.row{background:var(--mark)}}
        @media print{.case{content-visibility:visible}button,input,.tools{display:none}}
        """
}
