"""What must stay text in a report: HTML and scripts, and whatever Markdown and GitHub make something of."""

PAYLOADS = (
    "<script>parent.hit=1</script>", "<img src=x onerror=hit()>", '"><svg onload=hit()>', "'><b onclick=hit()>x</b>",
    "</style><script>hit()</script>", "</title><script>hit()</script>", "<iframe srcdoc='<script>hit()</script>'>",
    "javascript:hit()", "data:text/html,<script>hit()</script>", "{{ 7 * 7 }}", "{% include 'x' %}", "${hit()}",
    "<!-- --><script>hit()</script>", "<![CDATA[<script>hit()</script>]]>", "&lt;script&gt;hit()&lt;/script&gt;",
    "<a href=javascript:hit()>x</a>", "<base href=//evil.example/>", "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content=0;url=//evil.example>", "<style>*{background:url(//evil.example/x)}</style>",
    '" style="background:url(//evil.example)" x="', "<math><mtext><script>hit()</script></mtext></math>",
    "<details open ontoggle=hit()>", "<video><source onerror=hit()></video>", "\u202egnp.exe\u2066 x",
    "a\u200bb\ufeffc",
    "[x](https://evil.example)", "![x](https://evil.example/p.png)", "<https://evil.example>", "www.evil.example",
    "https://evil.example/a?b=c", "mail me: jo@evil.example", "@everyone and @org/team", "GH-12 PROJ-7",
    "fixes #1, jlord#26, org/repo#3", "59a200c6d575d595120f1cb70fea53cef0632f6b", ":shipit: :+1:",
    "a | b \\| c \\\\| d", "`code` ``two`` | x", "**bold** _em_ ~~gone~~", "x</td></tr></table>", "[^1]: note",
    "[ref]: https://evil.example", "- [x] done", "# heading", "> [!WARNING]", "```js hit()", "$`x`$ $$y$$ $z$",
    "\\@everyone \\<b>", "* * *", "a\nb\n\n## c\n| d |",
)  # fmt: skip
