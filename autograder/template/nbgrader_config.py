from autograder.nbgrader_settings import configure

c = get_config()
configure(c, __file__)
