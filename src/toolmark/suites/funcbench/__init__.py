"""FuncBenchGen: hidden graphs of functions, made fresh (arXiv 2509.26553)."""
