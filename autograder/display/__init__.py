"""What a page may show of notebooks: cleaned Markdown and HTML, formulas as MathML, nbgrader's templates.

In: text from submissions. Out: HTML that runs nothing and loads nothing.

Must not import kernels, grade or anything above them.
"""
